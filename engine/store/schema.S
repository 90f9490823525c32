// The text of schema.sql inside the program (see schema.h).
    .section .rodata
    .global hearth_store_schema
    .global hearth_store_schema_end
hearth_store_schema:
    .incbin "schema.sql"
hearth_store_schema_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
