import pathlib
import re
import shutil

posts = {
    "first.md": "# Hello\n\nThis is *my* first post.\n\n- one\n- two\n",
    "second.md": "# Again\n\nSee [home](index.html) and `code`.\n",
}
src, out = pathlib.Path("posts"), pathlib.Path("site")
src.mkdir()
for name, text in posts.items():
    (src / name).write_text(text)


def render(text):
    html = []
    for block in text.strip().split("\n\n"):
        if block.startswith("# "):
            html.append(f"<h1>{block[2:]}</h1>")
        elif block.startswith("- "):
            html.append("<ul>" + "".join(f"<li>{line[2:]}</li>" for line in block.splitlines()) + "</ul>")
        else:
            html.append(f"<p>{block}</p>")
    text = "\n".join(html)
    text = re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[(.+?)\]\((.+?)\)", r'<a href="\2">\1</a>', text)


shutil.rmtree(out, ignore_errors=True)
out.mkdir()
for post in sorted(src.glob("*.md")):
    target = out / post.with_suffix(".html").name
    target.write_text(render(post.read_text()))
    print(f"== {target}\n{target.read_text()}")
