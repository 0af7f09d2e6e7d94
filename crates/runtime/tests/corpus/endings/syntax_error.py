print("this line never runs")
def broken(:
    pass
