"""Compares two databases: the rows of every table, and what guards them.

Rows are compared by their number and the sum of their digests, which says the same whatever the order: so an audit
chain that verifies in the one verifies in the other. Definitions are compared by name, because versions of Postgres
write the same expression differently.
"""

from typing import Final

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from warehouse.database import OWNER

_PLAIN: Final = (
    "-c timezone=UTC -c datestyle=ISO,YMD -c intervalstyle=postgres -c bytea_output=hex -c extra_float_digits=1"
)
_DATABASES: Final = "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname"
_SCHEMAS: Final = "SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
_TABLES: Final = f"""
SELECT relnamespace::regnamespace::text, oid::regclass::text, relname
FROM pg_class WHERE relkind = 'r' AND relnamespace IN ({_SCHEMAS}) ORDER BY 1, 3
"""
_ROWS: Final = """
SELECT count(*), sum(('x' || substr(md5(({name}.*)::text), 1, 16))::bit(64)::bigint::numeric) FROM ONLY {table}
"""
_PARTS: Final = {
    "roles": """
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolbypassrls, rolpassword
FROM pg_authid WHERE rolname !~ '^pg_'""",
    "settings of roles": """
SELECT datname, setrole::regrole::text, setconfig
FROM pg_db_role_setting LEFT JOIN pg_database ON pg_database.oid = setdatabase""",
    "memberships": """
SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members WHERE member::regrole::text !~ '^pg_'""",
    "policies": "SELECT schemaname, tablename, policyname, permissive, roles, cmd FROM pg_policies",
    "row-level security": f"""
SELECT oid::regclass::text, relkind, relrowsecurity, relforcerowsecurity, relowner::regrole::text
FROM pg_class WHERE relkind IN ('r', 'v', 'm', 'S', 'p') AND relnamespace IN ({_SCHEMAS})""",
    "rights": f"""
SELECT relation.oid::regclass::text, grantee::regrole::text, privilege_type
FROM pg_class AS relation, aclexplode(relacl)
WHERE grantee <> relowner AND privilege_type <> 'MAINTAIN' AND relnamespace IN ({_SCHEMAS})
UNION ALL
SELECT nspname, grantee::regrole::text, privilege_type FROM pg_namespace, aclexplode(nspacl)
WHERE grantee <> nspowner AND oid IN ({_SCHEMAS})""",
    "columns": f"""
SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE attnum > 0 AND NOT attisdropped AND relkind = 'r' AND relnamespace IN ({_SCHEMAS})""",
    "constraints": f"""
SELECT conrelid::regclass::text, conname, contype, convalidated
FROM pg_constraint WHERE contype <> 'n' AND connamespace IN ({_SCHEMAS})""",
    "indexes": "SELECT schemaname, tablename, indexname FROM pg_indexes WHERE schemaname !~ '^pg_'",
    "triggers": "SELECT tgrelid::regclass::text, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal",
    "functions": f"""
SELECT oid::regprocedure::text, md5(prosrc), prosecdef, proconfig, proowner::regrole::text
FROM pg_proc WHERE pronamespace IN ({_SCHEMAS})""",
    "sequences": "SELECT schemaname, sequencename, last_value FROM pg_sequences",
}
"""What is compared besides rows. Rights leave out MAINTAIN, which newer versions count to GRANT ALL, and constraints
leave out NOT NULL, which newer versions keep as constraints too.
"""


def databases(url: str) -> list[str]:
    """Return the names of the server's databases."""
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute(_DATABASES).fetchall()]


def create(url: str, name: str) -> None:
    """Make an empty database that the owner owns."""
    with psycopg.connect(url, autocommit=True) as connection:
        statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0")
        connection.execute(statement.format(sql.Identifier(name), sql.Identifier(OWNER)))


def differing(url: str, other: str) -> list[str]:
    """Return the names of the tables and of the parts in which two databases differ."""
    one, two = _parts(url), _parts(other)
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))


def _parts(url: str) -> dict[str, list[TupleRow]]:
    with psycopg.connect(url, options=_PLAIN) as connection:
        found = {name: sorted(connection.execute(query).fetchall(), key=str) for name, query in _PARTS.items()}
        for schema, shown, table in connection.execute(_TABLES).fetchall():
            rows = sql.SQL(_ROWS).format(name=sql.Identifier(table), table=sql.Identifier(schema, table))
            found[f"table {shown}"] = connection.execute(rows).fetchall()
    return found
