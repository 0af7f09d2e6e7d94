# uses: merging, rotating, encrypting, reading text
# expect: 3 90 True page 2
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen import canvas

sheet = canvas.Canvas("three.pdf")
for number in range(3):
    sheet.drawString(100, 700, f"page {number}")
    sheet.showPage()
sheet.save()
writer = PdfWriter()
for page in PdfReader("three.pdf").pages:
    writer.add_page(page)
writer.pages[0].rotate(90)
writer.encrypt("secret", algorithm="AES-256")
writer.write("locked.pdf")
reader = PdfReader("locked.pdf")
was_locked = reader.is_encrypted
reader.decrypt("secret")
print(len(reader.pages), reader.pages[0].rotation, was_locked, reader.pages[2].extract_text().strip())
