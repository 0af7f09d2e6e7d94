import asyncio
import sys


async def run(*command):
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate(b"input for the child")
    return process.returncode, out.decode().strip(), err.decode().strip()


async def main():
    code = "import sys; print(sys.stdin.read().upper()); print('warn', file=sys.stderr); sys.exit(3)"
    print(await run(sys.executable, "-c", code))
    shell = await asyncio.create_subprocess_shell("echo one; echo two", stdout=asyncio.subprocess.PIPE)
    async for line in shell.stdout:
        print("line:", line.decode().strip())
    print(await shell.wait())
    sleeper = await asyncio.create_subprocess_exec("sleep", "60")
    sleeper.terminate()
    print(await sleeper.wait())


asyncio.run(main())
