# uses: routes with checked parameters, an error, the OpenAPI description, called without a network
# expect: {'total': 6.0} 422 True
import asyncio

import httpx
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Order(BaseModel):
    price: float
    count: int


@app.post("/total")
def total(order: Order):
    return {"total": order.price * order.count}


async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        good = await client.post("/total", json={"price": 1.5, "count": 4})
        bad = await client.post("/total", json={"price": "much"})
        described = await client.get("/openapi.json")
    print(good.json(), bad.status_code, "/total" in described.json()["paths"])


asyncio.run(main())
