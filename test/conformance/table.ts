import type { Document } from "./sentences.ts"

/**
 * What holds a sentence: the names of tests. `says` is how the sentence, or the table's row, begins; `rows of <section>` means all rows of that section's table that no other entry names.
 */
export type Entry = readonly [says: string, ...tests: string[]]

/** No test: the sentence only leads to others, or says what the document leaves open (which `README` fills). */
export const leads = "leads to what follows"
/** No test yet: what it speaks of comes with a later step. */
export const later = (what: string) => `later: ${what}`

const fieldsOfAll = [
  "an image has every field of the document",
  "a dataset has every field of the document, and no Password",
  "a project has every field of the document",
]
const lists = "lists hold data, page, pageCount and pageSize, newest first"
const soft = "deletion is soft: reads and lists no longer show it, owner and administrator restore it"
const softToo = "datasets and projects are deleted and restored the same way"
const runFields = "a run has every field of the document and of what Quayside adds"
const ready = "a start is answered when the run is ready, with the URL that answers"
const groupTotal = "what a group's members may hold together makes a run queue behind the others, and fail beyond one's own share"
const creates = "creation answers 200 with the whole object, and a new ID whatever the body says"
const updates = "PUT names its object by ID and keeps absent fields"
const byUser = "lists filter by UserName, and filters combine with AND"
const publish = "IsPublish selects on IsPublished and IsPublic, 1 and 0 and nothing else"
const prefix = "every endpoint answers at its path and at /admin and its path alike"
const proof = "no proof and a wrong one are 401, with Bearer in WWW-Authenticate and a message about the user name"
const failure = "a failure carries ok, msg, code, where it helps field, and the request's ID"
const httpLayer = "what the HTTP layer itself refuses has the failure object and a request's ID"
const unknown = "an unknown path is 404 and a wrong method 405 with Allow, both without proof"
const codes = "every code of a failure has its status, and every reason a sentence"
const etag = "single reads, POST and PUT carry an ETag that If-Match on PUT and DELETE is held against"
const scalar = "a single read accepts every scalar field of the structure"
const exactlyOne = "fields that pick exactly one object read it, several are 409 and none is 404"
const back = "what GET answered can be sent back with PUT, also when a part was deleted meanwhile"
const hiddenPart = "a part that the caller may not see is answered as its ID alone, and accepted back"
const sharing = "datasets share or contain each other's directories only while the same people have the same rights"
const accessInfo = "AccessInfo: people strictly below their home and not in its projects, administrators anywhere but / and /users"
const newPlace = "a directory is made from the dataset's name, with a suffix when taken, and reached at the files address"
const failing = "a project whose part was deleted or is hidden from the starter stays readable and fails to start, naming the part"
const noRun = "a hidden or missing project is 404 for its start, and makes no run"
const stopping = "stopping what has ended or never ran is fine"
const running = "lists of runs hold what is live, one state, or with State=ended the history"
const trainData = "TrainData items are accepted as datasets, with a place, or as links, and answered as links"
const wrongTypes = "a wrong JSON type is refused with its field and nothing is converted"

const httpApi: readonly Entry[] = [
  ["This document covers", leads],
  ["The service is addressed", prefix],
  ["Files of datasets are served", newPlace],
  ["The service is a backend", ready],
  ["It stores four kinds", leads],
  ["Images: container", fieldsOfAll[0] as string],
  ["Datasets (", fieldsOfAll[1] as string],
  ["Projects: a project", fieldsOfAll[2] as string],
  ["Running projects: a started", runFields],
  ["This resource is marked", leads],
  ["General conventions", leads],
  ["The API follows REST", "paths and methods of the table are unique, and a list is the plural or the same path"],
  ["Create, update, delete and read", "paths and methods of the table are unique, and a list is the plural or the same path"],
  ["POST and PUT carry", "a body is JSON in UTF-8 with its Content-Type, else 415", creates, updates],
  ["DELETE and GET carry", "a body on GET and on DELETE is passed over, and the connection goes on"],
  ["All responses are JSON", "every answer of the API is JSON that says so, and is never sniffed"],
  ["The HTTP status code", creates, failure],
  ["In every create request", creates],
  ["A new ID is assigned", creates],
  ["Every resource has a short", "Comment and Doc are kept as they came, of every resource"],
  ["`Doc` is stored", "Comment and Doc are kept as they came, of every resource"],
  ["Roles, visibility", leads],
  ["Every stored resource", ...fieldsOfAll],
  ["ID | unsigned", creates, soft],
  [
    "CreatedAt",
    "timestamps are RFC 3339 in UTC with milliseconds, and DeletedAt is null while nothing is deleted",
    "POST and PUT ignore times and computed fields",
  ],
  [
    "UpdatedAt",
    "timestamps are RFC 3339 in UTC with milliseconds, and DeletedAt is null while nothing is deleted",
    "POST and PUT ignore times and computed fields",
  ],
  ["DeletedAt | timestamp", soft],
  ["Common fields plus", ...fieldsOfAll],
  ["rows of Image (ImageModel)", fieldsOfAll[0] as string, wrongTypes],
  ["Formats of the Command", leads],
  ["Type | string | How", fieldsOfAll[1] as string, "what is needed is said: Name and Image, Name, ProjectName, Type and image"],
  ["AccessInfo | string", newPlace, accessInfo],
  ["rows of Dataset (DataModel)", fieldsOfAll[1] as string, wrongTypes],
  ["An earlier shape of this structure also", "a dataset's Password is accepted, never stored and never answered"],
  ["Access rule", newPlace],
  ["The directory of a `dir`", newPlace],
  ["Type | string | One of", "a closed list's refusal names the allowed values"],
  ["ImageID | integer", "a project's image is accepted as Image or ImageID and answered whole as both"],
  ["Image | ImageModel", "a project's image is accepted as Image or ImageID and answered whole as both"],
  ["TrainData | list", trainData],
  ["Running | boolean", "POST and PUT ignore times and computed fields", ready],
  ["rows of Project (ProjectModel)", fieldsOfAll[2] as string, wrongTypes],
  ["TrainData has two shapes", leads],
  ["Current shape: a list", trainData],
  ["Earlier shape: a list", trainData],
  ["In create and update requests", trainData],
  ["rows of Project-to-dataset link (ProjectTrainDataModel)", trainData],
  ["The inherited base fields", leads],
  ["ID | integer | Present", "deleting or withdrawing a project stops no run; the starter still stops it by ID and by ProjectID"],
  ["URL | string", ready],
  ["rows of Running project (RunningProject)", runFields, wrongTypes],
  ["Units of Memory", leads],
  ["When a run is requested", ready],
  ["If the project starts successfully", ready],
  ["The running-project resource is marked", leads],
  ["In an earlier shape of the interface", leads],
  ["The only state-like item", ready],
  ["Transitions: not shown", leads],
  ["Query-parameter and field names", "parameter names are case-sensitive"],
  ["A single resource is read", scalar, exactlyOne],
  ["A list is read from the plural", "paths and methods of the table are unique, and a list is the plural or the same path", lists],
  ["List requests accept", "pageSize is capped at 200 and the answer tells the one used"],
  ["A list response is", lists],
  [
    "rows of Single-resource and list conventions",
    lists,
    "pages past the end are empty with the true pageCount, and an empty list has none",
  ],
  ["POST | /image", creates],
  ["PUT | /image", updates],
  ["DELETE | /image", soft],
  ["GET | /images | UserName", byUser],
  ["GET | /images | IsPublish", publish],
  ["POST | /data", newPlace],
  ["PUT | /data", "a refused change leaves nothing behind", sharing],
  ["DELETE | /data", softToo],
  ["GET | /data | UserName", byUser],
  ["GET | /data | IsPublish", publish],
  ["POST | /project", trainData],
  ["PUT | /project", trainData],
  ["DELETE | /project", softToo],
  ["GET | /projects | UserName", byUser],
  ["GET | /projects | IsPublish", publish],
  ["POST | /running_project", ready],
  ["DELETE | /running_project", stopping],
  ["GET | /running_projects", running],
  ["Response bodies of successful", leads],
  ["The exact path and parameters", leads],
  ["An example delete request", prefix],
  ["Whether the prefix applies", leads],
  ["The interface can answer with status 401", proof],
  ["The authentication scheme", leads],
  ["Events, webhooks", leads],
  ["Status 200 means", creates],
  ["Any status other than 200", failure],
  ["A failure response is", failure],
  ["rows of Errors", failure],
  ["A failure with status 401", proof],
  ["Status codes other than", leads],
  ["Page size bounds", leads],
  ["Versioning scheme", leads],
]

const readme: readonly Entry[] = [
  ["`http-api.md`, beside this file", leads],
  ["It marks many things", leads],
  ["This page fills them", leads],
  ["Where they seem to disagree", leads],
  ["Field and parameter names are exact", "parameter names are case-sensitive", "unknown body fields are ignored, __proto__ included"],
  ["JSON is UTF-8", "a body is JSON in UTF-8 with its Content-Type, else 415"],
  ["Timestamps are RFC 3339", "timestamps are RFC 3339 in UTC with milliseconds, and DeletedAt is null while nothing is deleted"],
  ["Every endpoint answers at its path", prefix],
  ["The prefix changes nothing", prefix],
  ["Success is always 200", creates, "a browser at / comes to the web UI, and without a session to the sign-in page"],
  ["Every failure is", failure, unknown, "malformed JSON is 400", "a body is at most 1 MiB, 4 MiB for a project, else 413", httpLayer],
  ["`DELETE` answers", soft],
  ["Beyond `ok` and `msg`", failure, codes],
  ["An unknown query parameter", "an unknown parameter is refused with the nearest known name"],
  ["So is a parameter", "a parameter that stands twice where once is meant is refused"],
  ["An unknown body field", "unknown body fields are ignored, __proto__ included"],
  [
    "A body is JSON",
    "a body is JSON in UTF-8 with its Content-Type, else 415",
    "a body is at most 1 MiB, 4 MiB for a project, else 413",
    "a body is at most 64 levels deep",
  ],
  ["Values of the wrong JSON type", wrongTypes],
  ["Texts hold no NUL", "texts hold no NUL and no lone surrogate", "lengths: names 200 characters, Comment 2,000, Doc 256 KiB"],
  ["What is wrong in a body is 400", "a reference to a hidden, a missing or a deleted image is 400 in the same words"],
  ["The thing that the request acts on", updates, noRun],
  ["IDs that are no number", "IDs that are no number are 400, and those beyond every row are nobody's"],
  ["A closed list's refusal", "a closed list's refusal names the allowed values"],
  ["`GET /image`, `/project`", exactlyOne, "an image, a dataset and a project are read by ID", running],
  ["`GET /data` with `ID`", "GET /data with ID alone reads one, otherwise it lists"],
  ["Single reads accept any scalar", scalar],
  ["Lists are newest first", lists],
  ["`page` counts from 1", lists, "pageSize is capped at 200 and the answer tells the one used"],
  ["A page past the end", "pages past the end are empty with the true pageCount, and an empty list has none"],
  ["Zero, negative", "pages of zero, negative, fractional, repeated, enormous and wordy numbers are 400 with their field"],
  ["`IsPublish=1` selects", publish],
  ["Filters combine", byUser],
  ["A list holds only", "a list holds only what the caller may see, and so do its counts"],
  ["`GET /running_projects` lists", running],
  ["`POST` and `PUT` ignore", "POST and PUT ignore times and computed fields", creates],
  ["`PUT` names its object", updates],
  ["Fields that are absent", updates],
  ["Both answer the whole object", creates, updates],
  ["`UserName` defaults", "UserName defaults to the caller, and naming somebody else is for administrators"],
  ["Naming somebody else", "UserName defaults to the caller, and naming somebody else is for administrators"],
  ["`GroupName` must be a group", "GroupName must be a group of the caller's, without telling which exist"],
  ["Needed: an image's", "what is needed is said: Name and Image, Name, ProjectName, Type and image"],
  ["Names need not be unique", "names need not be unique"],
  ["The answer to a single read", etag, "every answer is no-store, and If-None-Match is passed over"],
  ["Everything that a `GET` answered", back],
  ["Deletion is soft", soft, softToo],
  ["An object that refers", back],
  ["A project whose image or dataset", failing],
  ["Owner and administrator can restore", soft],
  ["Inside another object", hiddenPart, "a project's image is accepted as Image or ImageID and answered whole as both"],
  ["A project has at most 64", "a project has at most 64 datasets"],
  [
    "project's image |",
    "a project's image is accepted as Image or ImageID and answered whole as both",
    "when Image and ImageID differ, the one that differs from what is stored counts",
    "Image and ImageID that are both new and different are 400",
  ],
  ["`TrainData` item", trainData],
  ["dataset `Password`", "a dataset's Password is accepted, never stored and never answered"],
  ["running project's project", "Project and ProjectID are both accepted, and must agree"],
  ["end a run", stopping],
  ["`Image`: an OCI", "image references follow the OCI grammar"],
  ["`Command`: empty", "a command is empty, one line of a POSIX shell's words, or a JSON array of strings"],
  ["Placeholders `{port}`", "placeholders port and baseUrl are filled in, and others are refused"],
  ["`Env`: lines", "an environment is lines of KEY=VALUE with comments and quotes, or a JSON object of strings"],
  ["`Port`: the port", "a port is a number from 1 to 65535, with or without /tcp, or empty"],
  [
    "`MountPath`, `UserPath`",
    "places are absolute, distinct and not over what the system needs; one inside another is fine",
    "a mount place is absolute, without detours, not / and not over a system directory",
    "datasets of the same name get places of their own",
  ],
  ["`AccessInfo`: a directory", accessInfo, "a dataset's location is a directory below the files root other than / and /users"],
  ["People: strictly below", accessInfo],
  ["Empty on POST means", newPlace],
  ["It is made when missing", newPlace],
  ["Datasets may share", sharing],
  ["Checked when the value", sharing],
  ["`{files URL}<AccessInfo>`", newPlace],
  ["`Memory` and `GpuMemory`", "memory is spoken of in the unit of the setting, in answers, bodies and the description"],
  ["`Cpus`, `Gpus`, `Nodes`", runFields],
  [
    "A caller is a user",
    "a token is shown once, works as Bearer and as Basic's password, and ends when it is deleted",
    "a session sets the browser's cookie, and signing out ends it",
  ],
  ["No proof, or a wrong one", proof],
  ["Without proof:", "without proof: what tells of the installation, the web UI's files and signing in", unknown],
  ["Owner and administrator may change", "what somebody sees but may not change is 403", soft],
  ["Published things can be read", "published things are read by every signed-in user, a project also by the members of its group"],
  ["What a caller may not see", "what is hidden and what is missing are answered alike", "what somebody sees but may not change is 403"],
  ["Every write, whatever", "a write is refused when a browser says that it comes from elsewhere"],
  ["The apps and files addresses", "a write is refused when a browser says that it comes from elsewhere"],
  ["A write proved by a session", "a write proved by a session must say where it comes from"],
  ["Only the files address asks", proof],
  ["`Host` must be", "Host must be a configured name or a loopback one"],
  ["Every person has a home", "a person has a home from the moment they exist, and files-token opens the files address only"],
  ["Anyone who may see a project", "a second start is 409 already_running with the run's ID, State and URL"],
  ["The run belongs to the person", "the code of others begins as what the owner released: at publication, and again by release"],
  ["The code directory begins", "the code of others begins as what the owner released: at publication, and again by release"],
  ["One live run per person", "a second start is 409 already_running with the run's ID, State and URL"],
  ["A project's `Running`", ready],
  ["`UserName` and `GroupName` never change", "names of people and groups never change and are never given again"],
  [
    "rows of Who may do what",
    "has an expectation for every action on a thing with an owner",
    "opens a run to an administrator by a grant only",
  ],
  ["For a run only grants", later("grants")],
  ["The owner of a project sees", "the owner of a project sees that others run it, and no more"],
  ["The starter can always stop", "deleting or withdrawing a project stops no run; the starter still stops it by ID and by ProjectID"],
  ["A copy of a project", "a copy belongs to the copier, keeps its references as they are and is neither published nor trusted"],
  ["Deleting or withdrawing", "deleting or withdrawing a project stops no run; the starter still stops it by ID and by ProjectID"],
  ["Disabling or deleting a person", "disabling a person stops their runs with access_withdrawn"],
]

const settingNames = "the variables that scripts count on have their names and defaults"
const settingSources = "file, environment and command line set the same settings, the later one winning"
const help = "help names every setting with its variable and its default"
const wrongSetting = "an unknown setting and a wrong value are refused with a sentence that names them, without secrets"
const injected = "an empty value means unset, and what Kubernetes injects is passed over with a warning"
const beyond: readonly Entry[] = [
  ["The names here are fixed", leads],
  ["Conventions are those", prefix, lists, creates],
  ["Where this page is silent", leads],
  ["400, 417", codes, "an expectation that nobody knows is 417"],
  ["401, 403", codes, proof, unknown],
  ["409, 412", codes, etag],
  ["413 and 414", codes, "an address of more than 8,192 characters is 414, a head of more than 32 KiB is 431"],
  ["500, 503", codes, "a stop lets requests under way finish and answers new ones with 503"],
  [
    "A run's `Reason.code`",
    codes,
    "a start that fails is a failure with ID, State and Reason, and the run is in the history",
    "an engine that refuses is 503",
  ],
  ["More may be added", leads],
  ["GET `/whoami`", "whoami tells name, rights, groups and the limits that apply, groups counted"],
  [
    "POST, PUT, GET, DELETE `/user`",
    "accounts are for administrators, and a person reads themselves",
    "a person changes their own password with the current one, and nothing else of the account",
  ],
  ["POST, PUT, GET, DELETE `/group`", "members read their groups, and lists hold only these"],
  [
    "POST `/token`",
    "a token is shown once, works as Bearer and as Basic's password, and ends when it is deleted",
    "a token to read changes nothing, and one for a run opens nothing here",
  ],
  ["POST, DELETE `/grant`", later("grants")],
  [
    "POST `/session`",
    "a session sets the browser's cookie, and signing out ends it",
    "signing in gives a new session and ends the one that the browser came with",
    "All=1 signs a person out everywhere and ends nobody else's session, nor a token",
  ],
  [
    "GET `/oidc/login`",
    "somebody new signs in by the provider and gets an account, a home and groups",
    "the sign-in page leads to the provider where one is configured, in words that cannot break it",
  ],
  ["`UserName` and `GroupName`: 1–64", "names of people and groups: 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit, never .."],
  [
    "`Limits`: `MaxRuns`",
    "over one's own limit a run fails with quota_exceeded, the lowest of own and groups' counting",
    groupTotal,
    "A run ends at its longest time, which is told from the beginning and outlives a restart",
    "A run that nobody uses is warned and then ended, no sooner than the warning says",
    "Beyond a limit of disk the run that wrote most is ended, near it it is warned",
  ],
  [
    "The first administrator",
    "begin with one administrator, whose generated password is told before it counts",
    "begin with an administrator of the given password, and nothing is generated",
  ],
  [
    "Wrong passwords are slowed",
    "wrong passwords are slowed down with 429 and Retry-After",
    "from many addresses slow the name, and the right password still comes through",
  ],
  ["The right password from", "from a crowd do not stand before the right one of somebody who has not failed"],
  [
    "`X-Forwarded-For` counts",
    "through a trusted proxy the caller's own address counts, at all three addresses",
    "without trust X-Forwarded-For is passed over, at all three addresses",
    "a loopback caller with X-Forwarded-For from elsewhere is not taken for one from this machine, and is logged",
  ],
  [
    "A deleted person's runs",
    "disabling a person stops their runs with access_withdrawn",
    "a deleted person's things stay as they are for those who could see them, and an administrator hands them over",
  ],
  ["A running project carries", runFields],
  ["`ControlURL` is empty", ready],
  [
    "POST `/running_project`",
    ready,
    failing,
    noRun,
    "over one's own limit a run fails with quota_exceeded, the lowest of own and groups' counting",
    "more than any node has fails, and what others hold is queued and said so",
    "respond-async answers at once with the run as it stands",
    "an Idempotency-Key makes a repeat return the same run, and another body with it is 409",
    groupTotal,
  ],
  ["DELETE `/running_project`", stopping],
  ["GET `/running_project/logs", "a run's output is answered as JSON lines to who may read it, also after the end"],
  [
    "GET `/running_project/stats",
    "a run's figures are answered to who may see it, what is not known as null, and nothing is known after the end",
    "What a run uses is a series of samples, gone with the run",
  ],
  [
    "POST `/running_project/keep",
    "keeping a run counts as its use, for who may, while it is not over",
    "Use, and being told to keep it, give a run its whole idle time again",
    "a repeat starts again what ran, whatever project and image say by now, and fails over what may no longer be used",
  ],
  ["WebSocket `ControlURL`", later("the control channel")],
  [
    "GET `/capacity`",
    "capacity tells what nodes have and have free",
    "more than any node has fails, and what others hold is queued and said so",
  ],
  ["POST `/preview`", "a preview tells what would become of a start, refuses what a start refuses, and starts nothing"],
  [
    "`kill -9` and any restart",
    "after a restart the lists are what the engine really holds",
    "What was acknowledged survives kill -9, whole",
  ],
  [
    "GET `/events`",
    "events tell what was created, changed, deleted and restored, in the order of commits, with growing ids",
    "events are told to those alone who may see the thing",
    "who loses sight of a thing is told that it is deleted, and who sees it anew that it is updated",
    "joining and leaving a group tells of its projects and of the group itself",
    "runs tell their states with the reason, to the project's owner without it",
    "Last-Event-ID brings what was missed, judged by what may be seen now, also after a restart",
    "a Last-Event-ID that is not known here is answered by reset, and one that is none by 400",
    "a stream ends when the person is disabled, the token revoked or expired, the session over",
  ],
  [
    "GET `/audit`",
    "the audit lists changes with actor, thing, address and request, filtered, for administrators",
    "refusals are in the audit, counted by actor, action and minute, and names that nobody has are no actors",
    "A flood of refusals is one row for each actor, action and minute, written once the minute is over",
  ],
  ["POST `/image/restore", soft, softToo],
  [
    "GET `/image/check",
    "a check tells what the engine has without fetching it, a pull fetches it",
    "a pull tells how far it is, that it is done or why it failed, and who asked",
    "check and pull are for who may see and use the image",
  ],
  [
    "POST `/project/copy",
    "a copy belongs to the copier, keeps its references as they are and is neither published nor trusted",
    "the code of others begins as what the owner released: at publication, and again by release",
  ],
  [
    "GET `/open?",
    "open gives the same answer for any ID that the caller may not open",
    "a browser at / comes to the web UI, and without a session to the sign-in page",
  ],
  ["POST `/files-token`", "a person has a home from the moment they exist, and files-token opens the files address only"],
  ["GET `/healthz`", "healthz and readyz tell liveness and each part"],
  ["GET `/metrics`", "metrics are OpenMetrics text from loopback or for administrators, without what people wrote"],
  [
    "GET `/openapi.json`",
    "the description is OpenAPI 3.1 made from the contract",
    "the docs are a page that needs nothing from elsewhere, and names every path",
  ],
  ["GET `/ui/`", "a browser at / comes to the web UI, and without a session to the sign-in page"],
  ["List filters, beyond", "lists take ID many times, names, Type, q and sort", soft],
  ["The files address answers failures", "an unknown method is refused with the ones there are"],
  ["What the caller may not see is 404", "a missing parent is a conflict where the caller may write, and does not exist elsewhere"],
  ["One table in code", settingSources, help, "the reference pages are those that the code's tables make"],
  [
    "Names that scripts count on",
    settingNames,
    "an image whose registry is not allowed is refused when it is written, and when it is started",
    later("kubernetes and QUAYSIDE_APPS_PORTS"),
  ],
  ["An unknown `QUAYSIDE_*`", wrongSetting, injected],
  ["`npx quayside serve`", "a server that is told to end finishes what is under way and exits with 0"],
]

export const conformance: Readonly<Record<Document, readonly Entry[]>> = { "http-api": httpApi, README: readme, beyond }
