"""Lists the actions, resource types and actors of the audit ledger, published as enumerations.

An action is `resource.verb`; the part before the dot is the entry's `resource_type` (decisions §2, §9). v1 is additive:
a client treats an action that it does not know as one more of its resource.
"""

from typing import Final

ACTIONS: Final[dict[str, str]] = {
    "api_key.issued": "A key was issued.",
    "api_key.revoked": "A key was ended; it and its tokens count no more.",
    "brand.created": "A brand was added.",
    "company.created": "The company was added.",
    "company.updated": "The company was moved to another plan.",
    "connection.authorised": "A person let an application see what the company holds.",
    "connection.revoked": "An application that a person had connected was shut out; its tokens count no more.",
    "catalogue.refreshed": "The jurisdiction catalogue that all companies share changed.",
    "declaration.kept": "A declaration of a market and period was kept as it was filed.",
    "doc.created": "A declaration of conformity was added.",
    "doc.expired": "The last day of a declaration of conformity has passed.",
    "doc.updated": "A declaration of conformity was changed.",
    "doc_draft.accepted": "A person issued the declaration of conformity that a draft prepared.",
    "doc_draft.filed": "A draft of a declaration of conformity was filed for review.",
    "doc_draft.rejected": "A person rejected a draft of a declaration of conformity.",
    "import.completed": "Every row of a file has its outcome.",
    "import.failed": "A file could not be processed to its end.",
    "import.submitted": "A file was accepted.",
    "import.undone": "The writes of an import were taken back, where nothing had touched their SKUs since.",
    "import_mapping.removed": "A mapping of columns that was kept under a name was removed.",
    "library_component.created": "A shared component was added to the library.",
    "ruleset.activated": "Another version of the rules grades from now on, for all companies.",
    "sandbox.created": "A sandbox was made, which test keys reach; its own entries are in its own ledger.",
    "sandbox.reset": "A test key emptied the sandbox: an empty one took its place and its keys.",
    "site.created": "A site was added.",
    "sku.archived": "A SKU left lists, figures and the plan's count; its history stays.",
    "sku.created": "A SKU was created.",
    "sku.returned": "An archived SKU came back.",
    "sku.updated": "Fields, components or the grade of a SKU changed.",
    "sku_proposal.accepted": "A person accepted a proposed change of a SKU, which was then written.",
    "sku_proposal.filed": "A change of a SKU was proposed for review.",
    "sku_proposal.rejected": "A person rejected a proposed change of a SKU; nothing was written.",
    "sku_volumes.updated": "Units placed of a SKU changed.",
    "supplier.created": "A supplier was added.",
    "supplier_document.accepted": "A person accepted a supplier's document for the technical files of a SKU.",
    "supplier_document.filed": "A supplier's document was filed for review.",
    "supplier_document.rejected": "A person rejected a supplier's document.",
    "supplier_enquiry.created": "A supplier was asked about several SKUs under one link.",
    "supplier_enquiry.reminded": "A person or a program had a supplier reminded of an enquiry by mail.",
    "supplier_enquiry.withdrawn": "An enquiry was withdrawn; its links take no answer any more.",
    "supplier_request.closed": "The link of a supplier ended; it takes no answer any more.",
    "supplier_request.created": "A supplier was asked about components of a SKU.",
    "supplier_submission.accepted": "A person accepted a supplier's answer, which was then written.",
    "supplier_submission.filed": "A supplier answered a request; the answer waits for review.",
    "supplier_submission.rejected": "A person rejected a supplier's answer; its request is open again.",
    "technical_file.uploaded": "A technical file of a SKU was stored.",
    "own_words.updated": "The company's own words, which imports read as values, changed.",
    "user.created": "An account for a person was made.",
    "user.password_reset": "A link was made that sets a person's password once.",
    "user.password_set": "A person chose a new password; the sessions before it ended.",
    "user.role_changed": "A person was given another role.",
    "user.invited": "A person was invited: an account was made, and a link that sets its password once.",
    "user.returned": "An account that had ended may sign in again.",
    "user.signed_in": "A person signed in.",
    "user.sign_in_failed": "Somebody tried a wrong password for the account; at most one entry a minute.",
    "user.sessions_ended": "Sessions of a person were ended before their time.",
    "user.second_factor_on": "A person will be asked for a one-time code at each sign-in.",
    "user.second_factor_off": "A person signs in with the password alone again.",
    "user.recovery_code_used": "A person signed in with a recovery code, which is used up.",
    "user.disabled": "A person's account was ended, with its sessions and connections.",
    "webhook.created": "A webhook was added: an address to which changes are sent.",
    "webhook.disabled": "A webhook was disabled, because nothing could be delivered or a backup was restored.",
    "webhook.removed": "A webhook was removed.",
    "webhook.replayed": "A webhook sends its changes again from an earlier place.",
    "webhook.secret_rolled": "A webhook was given another secret.",
    "webhook.updated": "A webhook was changed, paused or taken up again.",
    "window.closed": "A higher rate limit of a key was ended before its time.",
    "window.opened": "A key was given a higher rate limit for a time.",
}
"""Every action that an entry can have."""

RESOURCE_TYPES: Final = tuple(dict.fromkeys(action.partition(".")[0] for action in ACTIONS))
"""Every resource type, by name."""

ACTORS: Final[dict[str, str]] = {
    "api_key": "A key or a token of it; `id` is the client id, `name` the one that the key was issued with.",
    "user": "A person who signed in.",
    "connection": "An application that a person connected.",
    "supplier": "A supplier who answered a request.",
    "import": "A file that was imported; `id` is the import's, `name` the file's.",
    "operator": "A command on the server; `id` is the account that it ran under.",
    "system": "The service itself, on schedule.",
}
"""Every type of actor."""


def actions_of(resource_type: str) -> tuple[str, ...]:
    """Return the actions of one resource type."""
    return tuple(action for action in ACTIONS if action.partition(".")[0] == resource_type)
