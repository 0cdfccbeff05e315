"""Lets people be mailed what is due, and companies keep what their declarations of conformity state each time.

Mails to people are in the table of mails to suppliers: each is of a day and a lead, once, and has no enquiry. Every
statement takes a lock for an instant.
"""

from alembic import op

revision = "0006"
down_revision = "0005"

_USERS = """
ALTER TABLE users ADD COLUMN IF NOT EXISTS due_mail_language text;
COMMENT ON COLUMN users.due_mail_language IS 'in which language the person is mailed what is due; null is not at all';
GRANT UPDATE (due_mail_language) ON users TO pcds_app
"""
_MAILS = """
ALTER TABLE supplier_mails ALTER COLUMN enquiry_id DROP NOT NULL;
ALTER TABLE supplier_mails ADD COLUMN IF NOT EXISTS user_id uuid;
ALTER TABLE supplier_mails ADD COLUMN IF NOT EXISTS due_on date;
COMMENT ON COLUMN supplier_mails.enquiry_id IS 'null of a mail to a person';
COMMENT ON COLUMN supplier_mails.user_id IS
    'whom a mail of what is due goes to: its kind is due_…, and its state may be sending';
COMMENT ON COLUMN supplier_mails.due_on IS 'the day that it is about'
"""
_ONCE = """
CREATE UNIQUE INDEX IF NOT EXISTS uq_supplier_mails_due ON supplier_mails (user_id, due_on, kind)
    WHERE user_id IS NOT NULL
"""
_PROFILES = """
ALTER TABLE company_profiles ADD COLUMN IF NOT EXISTS address text, ADD COLUMN IF NOT EXISTS standards text,
    ADD COLUMN IF NOT EXISTS signatory text, ADD COLUMN IF NOT EXISTS function text,
    ADD COLUMN IF NOT EXISTS place text;
COMMENT ON COLUMN company_profiles.address IS 'what a declaration of conformity states on its point 2';
COMMENT ON COLUMN company_profiles.standards IS 'what it states on its point 6';
COMMENT ON COLUMN company_profiles.function IS 'of the signatory'
"""


def upgrade() -> None:
    """Lock one table of requests at a time: with a request's two they could form a deadlock."""
    for statements in (_USERS, _MAILS, _ONCE, _PROFILES):
        with op.get_context().autocommit_block():
            op.get_bind().exec_driver_sql(statements)
