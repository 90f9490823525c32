// The embedded fonts, each between two labels (see app/gui/text/fonts.cpp).
    .section .rodata
    .macro font name, file
    .global hearth_font_\name
    .global hearth_font_\name\()_end
    .balign 16
hearth_font_\name:
    .incbin "\file"
hearth_font_\name\()_end:
    .byte 0
    .endm
    font sans "NotoSans-Regular.ttf"
    font sans_bold "NotoSans-Bold.ttf"
    font sans_italic "NotoSans-Italic.ttf"
    font mono "JetBrainsMono-Regular.ttf"
    font cjk "DroidSansFallback-CJK.ttf"
    .section .note.GNU-stack,"",%progbits
