"""What schemathesis is told beyond its settings; SCHEMATHESIS_HOOKS names this file."""

import re

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

# A value that fits every schema may still be refused: no schema can describe what it refers to,
# nor what its members or parameters mean together.
BEYOND_SCHEMAS = re.compile(
    r"^Members must name people who exist; got |which does not exist or may not be used$|^There is no person called|^UserName must name a person |^GroupName must be a group that"
    r"|^ID, or other fields that pick exactly one|^Either ID or ProjectID is needed|^(Image|Project) or (Image|Project)ID is needed"
    r"|^Image and ImageID name two images|^Project and ProjectID|^TrainData names the dataset|must be another place than|mounted at places of their own"
    r"|^(Memory|GpuMemory|Limits|TotalLimits) must be at most [0-9]+, in (bytes|MiB|GiB); got |^Exactly one of ImageID, DataID, ProjectID and RunID is needed|^Either UserName or GroupName is needed|^(Until|ExpiresAt) must be a time in the future|names nothing: one of|^TotalLimits must be amounts|^This .* belongs to .*, who may do everything with it|^A time in the future is wanted|^(UserName|GroupName) never changes$|^ID or (User|Group)Name is needed$"
    r"|may not start this project$|^CurrentPassword is needed|^q may hold |^The words of q may have |^Code must be one that was made within |^Image must be one that may be fetched|^ID is needed: it names "
    r"|^UserName needs All=1$|^Only one of ID, Others=1 and All=1 may be sent$"
    r"|^From must be before To; |^Step must be at least |^Memory must be 0 for the default, or at least "
    # Formats that no regular expression of a readable length holds.
    r"|^(AccessInfo|UserPath|CodePath|ModelPath|WritablePaths|TrainData.*) must be a(nother)? (path|place|directory|well-formed)|must be an image reference like"
    r"|^Env must be |^Command must be |must be well-formed text without NUL$"
    r"|^A user name must be |^The password must |or \[\"run:<ID>\"\]|must be a text that is not empty|must be at most [0-9,]+ bytes in UTF-8"
    # Their patterns are in the description; some of what is sent does not keep to patterns of headers.
    r"|^(If-Match|Idempotency-Key|Last-Event-ID) must be "
)


@schemathesis.check
def fits_is_accepted(ctx, response, case):
    """Whatever fits its schema is accepted, but for what is beyond schemas."""
    if response.status_code in (412, 414):
        return None
    if response.status_code == 400 and BEYOND_SCHEMAS.search(response.json()["msg"]):
        return None
    return positive_data_acceptance(ctx, response, case)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A log that is followed ends with its run: nobody waits for that here."""
    if case.path == "/running_project/logs" and case.query and str(case.query.get("follow")) == "1":
        case.query["follow"] = 0
