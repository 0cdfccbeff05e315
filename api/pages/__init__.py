"""Web pages for people: sign-in, consent, connected applications, and those that other modules add.

What belongs here: routes, templates, the one style sheet, sessions and forms. What does not: what a page decides or
writes (steps), and the reference of the API (`api.reference`). `render.page` renders a page, `sessions.Viewer` gives
its person, and only `forms` accepts a form. The texts are in `texts/*.csv`.
"""
