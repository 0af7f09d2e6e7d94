def mean(values):
    assert values, "mean of nothing"
    return sum(values) / len(values)


print(mean([1, 2, 3]))
print(mean([]))
