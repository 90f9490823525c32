-- A database of version 1 as the program of that version wrote it (sqlite3 .dump): never edited,
-- it stands for the files in the field.
PRAGMA application_id = 1213355080;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE conversations (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    created_ms    INTEGER NOT NULL,
    updated_ms    INTEGER NOT NULL,            -- of the newest message; a new title does not count
    deleted_ms    INTEGER,                     -- NULL: not deleted
    pinned        INTEGER NOT NULL DEFAULT 0,
    archived      INTEGER NOT NULL DEFAULT 0,
    active_leaf   INTEGER,                     -- last message of the branch shown; NULL: none
    title         TEXT,                        -- NULL: not chosen, first_line is shown
    first_line    TEXT NOT NULL DEFAULT '',    -- of the first message, shortened
    model         TEXT NOT NULL DEFAULT '',    -- as the user named it
    params_json   TEXT NOT NULL DEFAULT '',
    system_prompt TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO "conversations" VALUES(1,1796007788116,1796007788178,NULL,0,0,5,NULL,'Grüße an 世界?','smollm2-135m-q4_1','{"temp":0.5}','Be brief.');
INSERT INTO "conversations" VALUES(2,1796007788188,1796007788202,1796007788206,0,0,6,NULL,'Deleted chat','tiny','','');
INSERT INTO "conversations" VALUES(3,1796007788214,1796007788214,NULL,0,0,NULL,'Chosen title','','tiny','','');
CREATE TABLE message_chunks (
    id        INTEGER PRIMARY KEY,
    message   INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    token_ids BLOB NOT NULL,
    content   TEXT NOT NULL
) STRICT;
INSERT INTO "message_chunks" VALUES(1,5,X'05000000','Ein ');
INSERT INTO "message_chunks" VALUES(2,5,X'0600000007000000','halber');
CREATE TABLE messages (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation   INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    parent         INTEGER REFERENCES messages (id) ON DELETE CASCADE,  -- NULL: first of its chat
    created_ms     INTEGER NOT NULL,
    state          INTEGER NOT NULL,             -- 0 complete, 1 streaming, 2 stopped, 3 failed
    writer         INTEGER,                      -- while streaming: byte locked in the live file
    role           TEXT NOT NULL,
    finish_reason  TEXT NOT NULL DEFAULT '',
    model          TEXT NOT NULL DEFAULT '',
    tokenizer_hash TEXT NOT NULL DEFAULT '',     -- token_ids are valid under this tokenizer only
    params_json    TEXT NOT NULL DEFAULT '',
    stats_json     TEXT NOT NULL DEFAULT '',
    token_ids      BLOB NOT NULL DEFAULT x'',    -- little-endian int32 each
    reasoning      TEXT NOT NULL DEFAULT '',
    content        TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO "messages" VALUES(1,1,NULL,1796000000000,0,NULL,'user','','','','','',X'','','Grüße an 世界?');
INSERT INTO "messages" VALUES(2,1,1,1796000001000,0,NULL,'assistant','stop','smollm2-135m-q4_1','0123abcd','{"seed":7}','{"decode_ms":12}',X'01000000020000005B500200','hm','Hallo!');
INSERT INTO "messages" VALUES(3,1,1,1796000001000,0,NULL,'assistant','stop','smollm2-135m-q4_1','0123abcd','{"seed":7}','{"decode_ms":12}',X'0300000004000000','hm','Guten Tag!');
INSERT INTO "messages" VALUES(4,1,2,1796000002000,0,NULL,'user','','','','','',X'','','Und weiter?');
INSERT INTO "messages" VALUES(5,1,4,1796000003000,1,1264230208415805609,'assistant','','','','','',X'','','');
INSERT INTO "messages" VALUES(6,2,NULL,1796000004000,0,NULL,'user','','','','','',X'','','Deleted chat');
CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_shown
    ON conversations (archived, pinned DESC, updated_ms DESC, id DESC) WHERE deleted_ms IS NULL;
CREATE INDEX conversations_deleted ON conversations (deleted_ms) WHERE deleted_ms IS NOT NULL;
CREATE INDEX messages_tree ON messages (conversation, parent);
CREATE INDEX messages_streaming ON messages (id) WHERE state = 1;
CREATE INDEX message_chunks_message ON message_chunks (message);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('conversations',3);
INSERT INTO "sqlite_sequence" VALUES('messages',6);
COMMIT;
