# uses: commands with options, checked values, a wrong call
# expect: hello hello / 0 2 True
import click
from click.testing import CliRunner


@click.command()
@click.option("--count", type=click.IntRange(1, 5), default=1)
@click.argument("word")
def repeat(count, word):
    click.echo(" ".join([word] * count))


runner = CliRunner()
good, bad = runner.invoke(repeat, ["--count", "2", "hello"]), runner.invoke(repeat, ["--count", "9", "x"])
print(good.output.strip(), "/", good.exit_code, bad.exit_code, "not in the range" in bad.output)
