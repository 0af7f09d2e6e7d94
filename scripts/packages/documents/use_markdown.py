# uses: text to HTML, with tables and code
# expect: True True <h1 id="title">Title</h1>
import markdown

text = "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```\n"
page = markdown.markdown(text, extensions=["tables", "fenced_code", "toc"])
print("<table>" in page, 'class="language-python"' in page, page.splitlines()[0])
