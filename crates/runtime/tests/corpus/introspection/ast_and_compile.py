import ast
import dis
import io

tree = ast.parse("def f(x):\n    return x * 2 + y\nprint(f(3))")
print(ast.dump(tree.body[1]))
print(sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}))


class Doubler(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value * 2), node)


new = ast.fix_missing_locations(Doubler().visit(tree))
namespace = {"y": 1}
exec(compile(new, "<generated>", "exec"), namespace)
print(ast.unparse(new).splitlines()[1].strip(), eval("f(1)", namespace), ast.literal_eval("[1, {'a': (2, None)}]"))
out = io.StringIO()
dis.dis(compile("a + b", "", "eval"), file=out)
print("LOAD_NAME" in out.getvalue())
try:
    ast.literal_eval("__import__('os')")
except ValueError as e:
    print("ValueError:", str(e)[:28])
exec("z = 5\ndef g(): return z")
print(g())
