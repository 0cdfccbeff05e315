"""Reads untrusted bytes in separate processes, which are killed at a limit and replaced (decision 0028).

    pool.py       `Readers`, used by the API and the worker: chooses the next file and the process that reads it;
                  queues files: one file of a company at a time, companies in rotation
    requests.py   defines the requests to a reader, and reads its answers; defines the limits of one reading, and the
                  refusal of a file that exceeds them
    process.py    controls one reader process from its parent: starts, calls, watches and kills it
    channel.py    sends messages and open files between the two; requests.py writes the bytes of an answer
    template.py   forks readers from a process that has loaded their code; variables.py has their environment
    child.py      runs in the process itself (`python -m pipelines.readers.child`), with tasks.py

What belongs here: where and how long a file is read. What does not: how it is read (`pipelines.reading`,
`pipelines.reading.media`), and a person's own file that `pcds` reads on that person's machine. This module imports
nothing: otherwise a starting reader process would load everything that its parent needs.
"""
