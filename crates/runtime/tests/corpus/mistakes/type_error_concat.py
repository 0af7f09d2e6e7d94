age = 30
print("Age: " + str(age))
print("Age: " + age)
