"""Outside bytes are read here: in processes of their own, which are killed at a limit and replaced (decision 0028).

    pool.py       `Readers`, which the API and the worker hold: who reads next, and in which process
    turns.py      one file of a company at a time, companies in turn
    orders.py     what can be asked of a reader, and how its answer is taken
    process.py    one reader process as its parent sees it: started, asked, watched, killed
    limits.py     what a reading may use, and what a caller is told whose file used it up
    child.py      the process itself (`python -m pipelines.sandbox.child`), with confine.py and tasks.py
    channel.py    messages and open files between the two, and parcel.py the bytes of an answer

What belongs here: where and how long a file is read. What does not: how it is read (`pipelines.reading`,
`pipelines.reading.media`), and a person's own file that `pcds` reads on that person's machine. Nothing is imported
here: a reader process that starts would load all that its parent needs.
"""
