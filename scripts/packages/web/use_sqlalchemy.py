# uses: models, relations, queries and a rolled back transaction, on a database file
# expect: ['Ada: 2', 'Bob: 1'] 2 3
from sqlalchemy import ForeignKey, create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "authors"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    books: Mapped[list["Book"]] = relationship(back_populates="author")


class Book(Base):
    __tablename__ = "books"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"))
    author: Mapped[Author] = relationship(back_populates="books")


engine = create_engine("sqlite:///library.db")
Base.metadata.create_all(engine)
with Session(engine) as session:
    ada = Author(name="Ada", books=[Book(title="a"), Book(title="b")])
    session.add_all([ada, Author(name="Bob", books=[Book(title="c")])])
    session.commit()
    session.add(Author(name="Eve"))
    session.rollback()
    rows = session.execute(
        select(Author.name, func.count(Book.id)).join(Book).group_by(Author.name).order_by(Author.name)
    )
    counts = [f"{name}: {count}" for name, count in rows]
    print(counts, session.scalar(select(func.count(Author.id))), session.scalar(select(func.count(Book.id))))
