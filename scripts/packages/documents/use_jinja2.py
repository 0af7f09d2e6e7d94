# uses: inheritance, filters, macros, escaping, the sandboxed environment
# expect: [A, B] &lt;b&gt; | safe
from jinja2 import DictLoader, Environment
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

pages = {
    "base": "[{% block body %}{% endblock %}]",
    "page": "{% extends 'base' %}{% block body %}{{ names | map('upper') | join(', ') }}{% endblock %}",
    "escaped": "{{ text }}",
}
environment = Environment(loader=DictLoader(pages), autoescape=True)
try:
    SandboxedEnvironment().from_string("{{ ().__class__.__bases__ }}").render()
    state = "open"
except SecurityError:
    state = "safe"
print(
    environment.get_template("page").render(names=["a", "b"]),
    environment.get_template("escaped").render(text="<b>"),
    "|",
    state,
)
