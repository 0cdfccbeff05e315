"""Defines the sending of mails to suppliers: a job for a company, which a sensor requests while mails are due."""
