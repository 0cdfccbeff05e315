"""Pages for people: sign-in, consent, connected applications, and what others add.

What belongs here: routes, templates, the one style sheet, sessions and forms. What does not: what a page decides or
writes (steps), and the reference of the API (`api.reference`). A page is made by `render.page`, knows its person
through `sessions.SignedIn`, and takes a form only through `forms`. What it says stands in `texts/*.csv`.
"""
