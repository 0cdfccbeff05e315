"""Programs for those who work on the service: linters of the document, fuzzing of the API, the record of a release."""
