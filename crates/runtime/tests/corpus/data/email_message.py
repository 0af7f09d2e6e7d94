import email
from email import policy
from email.message import EmailMessage

msg = EmailMessage()
msg["Subject"] = "Bericht für März"
msg["From"] = "Ada <ada@example.com>"
msg["To"] = "bob@example.com, eve@example.com"
msg.set_content("Hello,\nsee the attachment.\n")
msg.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="data.csv")
raw = msg.as_bytes()
back = email.message_from_bytes(raw, policy=policy.default)
print(back["subject"], [a.addr_spec for a in back["to"].addresses])
for part in back.walk():
    print(part.get_content_type(), part.get_filename())
print(next(back.iter_attachments()).get_content())
