# uses: a table, markup, a tree, exported text
# expect: True True red
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

console = Console(record=True, width=40, file=open("/dev/null", "w"))
table = Table(title="Counts")
table.add_column("name")
table.add_row("[bold]bell[/bold]")
console.print(table)
tree = Tree("root")
tree.add("leaf")
console.print(tree)
text = console.export_text()
print("bell" in text, "└── leaf" in text, console.render_str("[red]red[/red]").spans[0].style)
