# package: python-docx
# uses: headings, styles, a table, a picture, written and read again
# expect: ['Minutes', 'Present: all', ''] cell 1 2
import struct
import zlib

import docx


def png():
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", header)
        + part(b"IDAT", zlib.compress(b"\0\0"))
        + part(b"IEND", b"")
    )


open("dot.png", "wb").write(png())
document = docx.Document()
document.add_heading("Minutes", 1)
document.add_paragraph("Present: ").add_run("all").bold = True
document.add_picture("dot.png")
document.add_table(2, 2).cell(1, 1).text = "cell"
document.save("minutes.docx")
again = docx.Document("minutes.docx")
print(
    [p.text for p in again.paragraphs],
    again.tables[0].cell(1, 1).text,
    len(again.inline_shapes),
    len(again.tables[0].rows),
)
