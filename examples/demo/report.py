# What a model might write when asked for revenue by city. Run it with:
#   belljar run --tool examples/demo/tools.py examples/demo/report.py

print("Fetching orders …")
orders = fetch_orders().data  # a tool
emit_intermediate("orders", len(orders))

totals = {}
for order in orders:
    totals[order["city"]] = totals.get(order["city"], 0) + order["amount"]
    print(f"  {order['city']:<5} {order['amount']:>8.2f}", flush=True)
    time.sleep(0.15)  # so that you can see it stream

rate = exchange_rate("EUR").data  # an async tool: no await needed
emit_intermediate("rate", {"EUR": rate})

try:
    exchange_rate("XAU")
except LookupError as error:
    emit_log(f"caught: {error}", level="warning")

try:
    open("/etc/shadow").read()
except OSError as error:
    emit_log(f"the sandbox has no such file: {error}")

emit_result({"currency": "EUR", "revenue": {city: round(total * rate, 2) for city, total in totals.items()}})
