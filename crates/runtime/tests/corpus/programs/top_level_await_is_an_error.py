# differs: `await` works outside of functions
# Python refuses `await` outside a function.
import asyncio

print("never printed, the file does not compile")
await asyncio.sleep(0)
