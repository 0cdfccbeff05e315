"""What turns the framework's OpenAPI document into the one that is published; `api.document` puts it together."""
