-- The chat database, version 2 (PRAGMA user_version). A change here is a new version: write a step
-- in migrations.cpp, and keep this file equal to the result of all steps.
--
-- Ids are never used twice (AUTOINCREMENT), because other places remember them. Times are Unix
-- milliseconds. Long columns stand last, so that reading a state does not walk a long text.
-- Only real facts are stored: counts of messages are counted, titles not chosen are derived.

-- Small facts about the program, by name.
CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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

-- Answers every list by itself, so a damaged chat hides only itself.
CREATE INDEX conversations_shown
    ON conversations (archived, pinned DESC, updated_ms DESC, id DESC) WHERE deleted_ms IS NULL;
CREATE INDEX conversations_deleted ON conversations (deleted_ms) WHERE deleted_ms IS NOT NULL;

-- A tree: regenerating or editing adds a sibling, nothing is overwritten.
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

-- Holds the tree without the text, so a damaged text page does not hide the rest of its chat.
CREATE INDEX messages_tree ON messages (conversation, parent);
CREATE INDEX messages_streaming ON messages (id) WHERE state = 1;

-- What was added to a streaming message, in order of id. Folded into the message at its end, so
-- that adding costs what is added, whatever the length of the answer so far.
CREATE TABLE message_chunks (
    id        INTEGER PRIMARY KEY,
    message   INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    token_ids BLOB NOT NULL,
    content   TEXT NOT NULL
) STRICT;

CREATE INDEX message_chunks_message ON message_chunks (message);

-- --- version 2 ---------------------------------------------------------------------------------

-- Where imported chats and messages come from, so that importing once more adds nothing.
CREATE TABLE origins (
    origin       TEXT NOT NULL PRIMARY KEY,  -- "chatgpt:CHAT", "chatgpt:CHAT#MESSAGE"
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message      INTEGER                     -- NULL: the chat itself
) STRICT, WITHOUT ROWID;

CREATE INDEX origins_conversation ON origins (conversation);

-- Text that was typed and not sent.
CREATE TABLE drafts (
    conversation INTEGER PRIMARY KEY,  -- 0: of a chat that has not begun
    text         TEXT NOT NULL
) STRICT;

-- Which messages have which three characters in a row (of the folded text and two U+0001 behind it,
-- so that shorter words are beginnings of entries). Says where to look; the texts decide.
CREATE VIRTUAL TABLE message_search
    USING fts5 (text, content = '', detail = none, tokenize = 'trigram case_sensitive 1');
CREATE VIRTUAL TABLE message_terms USING fts5vocab (message_search, instance);

-- Messages that are whole and not in the index yet. Filled by triggers, so that no writer forgets.
CREATE TABLE search_pending (message INTEGER PRIMARY KEY) STRICT;
CREATE TRIGGER message_added AFTER INSERT ON messages WHEN new.state <> 1
    BEGIN INSERT OR IGNORE INTO search_pending VALUES (new.id); END;
CREATE TRIGGER message_ended AFTER UPDATE OF state ON messages WHEN old.state = 1 AND new.state <> 1
    BEGIN INSERT OR IGNORE INTO search_pending VALUES (new.id); END;
