def average(numbers):
    total = sum(numbers)
    return total / cuont  # sic


data = [1, 2, 3]
print("data:", data)
print("average:", average(data))
