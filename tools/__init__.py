"""Contains programs for the service's developers: linters of the document, fuzzing, records of releases, pictures."""
