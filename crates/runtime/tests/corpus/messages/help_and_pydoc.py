import pydoc


class Stack:
    """A stack."""

    def push(self, item):
        """Put an item on top."""


print(pydoc.plain(pydoc.render_doc(Stack.push)))
help(Stack.push)
print(pydoc.locate("json.dumps").__name__)
