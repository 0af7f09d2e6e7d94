# stdin: 50\n25\nabc\n37\n42\n
import random


def play(secret):
    attempts = 0
    while True:
        guess = input("Guess a number between 1 and 100: ")
        try:
            guess = int(guess)
        except ValueError:
            print("Please enter a valid number.")
            continue
        attempts += 1
        if guess < secret:
            print("Too low!")
        elif guess > secret:
            print("Too high!")
        else:
            print(f"Correct! You got it in {attempts} attempts.")
            return attempts


random.seed(7)
random.randint(1, 100)
play(42)
