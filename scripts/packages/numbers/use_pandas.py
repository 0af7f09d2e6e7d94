# uses: groups, pivot tables, time series, Excel and Parquet files, HTML
# expect: {'north': 40.0, 'south': 60.0} 4 True 2024-01-31 True
import pandas as pd

frame = pd.DataFrame(
    {
        "region": ["north", "south", "north", "south"],
        "day": pd.date_range("2024-01-30", periods=4),
        "sales": [10.0, 20.0, 30.0, 40.0],
    }
)
frame.to_excel("sales.xlsx", index=False)
frame.to_parquet("sales.parquet")
totals = pd.read_parquet("sales.parquet").groupby("region")["sales"].sum().to_dict()
excel = pd.read_excel("sales.xlsx")
months = frame.set_index("day")["sales"].resample("ME").sum()
pivot = frame.pivot_table(index="region", values="sales", aggfunc="max", observed=True)
print(
    totals,
    len(excel),
    frame.to_html().count("<tr") == 5,
    months.index[0].date(),
    pivot.loc["south", "sales"] == 40,
)
