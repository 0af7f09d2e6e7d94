# args: --jobs 3 --limit 2
import argparse
import asyncio
import sys


async def run_job(n, limit, log):
    async with limit:
        proc = await asyncio.create_subprocess_exec(
            sys.executable, "-c", f"import sys; print('job {n}'); sys.exit({n} % 2)", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(proc.communicate(), 30)
        log.append((n, out.decode().strip(), proc.returncode))


async def main(args):
    limit, log = asyncio.Semaphore(args.limit), []
    await asyncio.gather(*(run_job(n, limit, log) for n in range(args.jobs)))
    for entry in sorted(log):
        print(*entry)
    return sum(code != 0 for *_, code in log)


parser = argparse.ArgumentParser()
parser.add_argument("--jobs", type=int, default=1)
parser.add_argument("--limit", type=int, default=1)
sys.exit(asyncio.run(main(parser.parse_args())))
