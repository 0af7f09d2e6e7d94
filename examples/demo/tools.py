"""Two tools that the demo's script calls.

Scripts can call any public function in a tool file. They call `async def` ones without `await`.
"""

import asyncio

ORDERS = [
    {"city": "Oslo", "amount": 120.0},
    {"city": "Lima", "amount": 80.5},
    {"city": "Oslo", "amount": 42.0},
    {"city": "Pune", "amount": 310.25},
]


def fetch_orders(city=None):
    """The orders of one city, or of all."""
    found = [order for order in ORDERS if city in (None, order["city"])]
    return ToolResponse(data=found, message=f"{len(found)} orders")


async def exchange_rate(currency):
    """What one unit of account is worth in a currency; slow, as a call to a service would be."""
    await asyncio.sleep(0.2)
    rates = {"EUR": 0.92, "NOK": 10.6}
    if currency not in rates:
        raise LookupError(f"no rate for {currency!r}")
    return ToolResponse(data=rates[currency])
