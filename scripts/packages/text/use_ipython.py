# uses: a shell without a terminal: magics, history, rich display, errors
# expect: 42 [0, 1, 4] NameError <b>bold</b>
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import HTML
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
with capture_output() as captured:
    shell.run_cell("x = 6 * 7")
    listed = shell.run_cell("[n**2 for n in range(3)]").result
    failed = shell.run_cell("missing").error_in_exec
    shell.run_line_magic("timeit", "-n1 -r1 pass")
formats, _ = shell.display_formatter.format(HTML("<b>bold</b>"))
print(shell.user_ns["x"], listed, type(failed).__name__, formats["text/html"])
