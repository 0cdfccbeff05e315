"""Operations that a person or a program can ask for, each once for REST, pages, tools and commands.

Each is a plain function over a database connection. Nothing here knows a web framework or Dagster; the steps of a
write are in `pipelines.writing`.
"""
