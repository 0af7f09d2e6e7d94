# uses: models with checks, errors, JSON both ways, a schema
# expect: 2024-01-02 2 ['age', 'name'] {"name":"Ada","age":36,"born":"2024-01-02"} ['name', 'age', 'born']
from datetime import date

from pydantic import BaseModel, Field, ValidationError


class Person(BaseModel):
    name: str = Field(min_length=1)
    age: int = Field(ge=0)
    born: date


person = Person.model_validate_json('{"name": "Ada", "age": "36", "born": "2024-01-02"}')
try:
    Person(name="", age=-1, born="2024-01-02")
    errors = []
except ValidationError as error:
    errors = error.errors()
fields = sorted(problem["loc"][0] for problem in errors)
print(person.born, len(errors), fields, person.model_dump_json(), Person.model_json_schema()["required"])
