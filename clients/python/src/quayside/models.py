# Made by script/python-client from the API's own description; a test fails when it is not current.
"""The structures of the API: bodies and answers, by the API's own field names."""

from __future__ import annotations

from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """A part of a list. `page` counts from 1."""

    data: list[T]
    page: int
    pageCount: int
    pageSize: int


class Image(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # Display name.
    Name: str
    # Container image reference, such as `repo/name:tag` or `repo/name@sha256:…`.
    Image: str
    # Short description.
    Comment: str
    # Arguments for the container: empty (the image's own, or the type's default), the text of a
    # JSON array of strings, or one line split as a POSIX shell splits words. `{port}` and
    # `{baseUrl}` are filled in.
    Command: str
    # Environment: lines of `KEY=VALUE`, or the text of a JSON object of strings.
    Env: str
    # The port that the service listens on inside the container: `8888` or `8888/tcp`; empty
    # means the type's default.
    Port: str
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: str
    # Whether every signed-in person may see and use it.
    IsPublished: bool
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change or publication by anybody else ends it.
    IsTrusted: bool
    # Directories that runs may write to although they are not the runs' own in the image: each
    # begins empty and counts as memory. `/` is the whole root file system, within `MaxDisk`.
    # Set by administrators only; another `Image` from anybody else removes them.
    WritablePaths: list[str]
    # Whether the engine always has the image: it is fetched ahead, and again when its tag
    # moves, and never pruned. Set by administrators only; another `Image` from anybody else
    # ends it.
    KeepPresent: bool
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: str


class ImagePart2(TypedDict):
    ID: int


class ImageWithoutDoc(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # Display name.
    Name: str
    # Container image reference, such as `repo/name:tag` or `repo/name@sha256:…`.
    Image: str
    # Short description.
    Comment: str
    # Arguments for the container: empty (the image's own, or the type's default), the text of a
    # JSON array of strings, or one line split as a POSIX shell splits words. `{port}` and
    # `{baseUrl}` are filled in.
    Command: str
    # Environment: lines of `KEY=VALUE`, or the text of a JSON object of strings.
    Env: str
    # The port that the service listens on inside the container: `8888` or `8888/tcp`; empty
    # means the type's default.
    Port: str
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: str
    # Whether every signed-in person may see and use it.
    IsPublished: bool
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change or publication by anybody else ends it.
    IsTrusted: bool
    # Directories that runs may write to although they are not the runs' own in the image: each
    # begins empty and counts as memory. `/` is the whole root file system, within `MaxDisk`.
    # Set by administrators only; another `Image` from anybody else removes them.
    WritablePaths: list[str]
    # Whether the engine always has the image: it is fetched ahead, and again when its tag
    # moves, and never pruned. Set by administrators only; another `Image` from anybody else
    # ends it.
    KeepPresent: bool


class ImageCheck(TypedDict):
    # Of the image's definition.
    ID: int
    # The reference.
    Image: str
    # Whether the engine has it.
    Present: bool
    # Whether it is being fetched for the caller.
    Pulling: bool
    # `sha256:…`, as a run's `ImageDigest`.
    Digest: str
    # As a run's `RegistryDigest`.
    RegistryDigest: str
    # Bytes, unpacked.
    Size: int
    # The kind of processor that it is made for, such as `amd64`; empty if unknown. If it is not
    # present, its registry is asked, at most once a minute.
    Architecture: str
    # Whether that is another kind than this machine's. Unless the machine emulates it, starts
    # fail with `wrong_architecture`.
    IsForeign: bool
    # The user that the image names. Runs have a user of their own.
    User: str
    # The image's entry point.
    EntryPoint: list[str]
    # The image's own arguments.
    Command: list[str]
    # The image's working directory.
    WorkDir: str
    # Ports that the image exposes, such as `8888/tcp`.
    Ports: list[str]
    # The types that it looks made for, by its ports and the names of its programs.
    Types: list[Literal["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"]]


class StoredImage(TypedDict):
    # `sha256:…`, as a run's `ImageDigest`.
    Digest: str
    # Its names; none if they moved to other images.
    Images: list[str]
    # Bytes, unpacked. Images may share a part of it.
    Size: int
    # When Quayside fetched it last; null: it did not.
    PulledAt: str | None
    # When a run used it last, or when it was fetched; null: Quayside did not fetch it.
    UsedAt: str | None
    # Whether pruning by these rules would remove it.
    WouldPrune: bool
    # Why it would stay or go.
    Why: str


class Data(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # How the dataset is accessed.
    Type: Literal["dir"]
    # Display name.
    Name: str
    # Short description.
    Comment: str
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: str
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: str
    # The directory, absolute below the files root. Empty on POST means a new directory of the
    # owner's. `{files URL}` followed by it (percent-encoded) is its WebDAV address.
    AccessInfo: str
    # Whether every signed-in person may see and read it.
    IsPublished: bool


class DataPart2(TypedDict):
    ID: int


class DataWithoutDoc(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # How the dataset is accessed.
    Type: Literal["dir"]
    # Display name.
    Name: str
    # Short description.
    Comment: str
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: str
    # The directory, absolute below the files root. Empty on POST means a new directory of the
    # owner's. `{files URL}` followed by it (percent-encoded) is its WebDAV address.
    AccessInfo: str
    # Whether every signed-in person may see and read it.
    IsPublished: bool


class Project(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # Project name.
    ProjectName: str
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: str
    # The group whose members may see and start it; empty: none. Only its members and
    # administrators may name it.
    GroupName: str
    # The kind of program: decides default port, arguments, landing page and readiness check.
    Type: Literal["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"]
    # Short description.
    Comment: str
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: str
    # Whether every signed-in person may see and start it.
    IsPublic: bool
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change, release or publication by anybody else
    # ends it.
    IsTrusted: bool
    # The image; in a body only its `ID` counts.
    Image: ImagePart
    # The image's ID. A body may name the image here or in `Image`.
    ImageID: int
    # The datasets, at most 64. A body's items may be `{ID}`, `{ID, MountPath}` or `{Data: {ID},
    # MountPath}`; without a path a dataset is mounted at `/work/data/` and a name made from its
    # own.
    TrainData: list[ProjectData]
    # Mount location of the user directory: absolute, distinct. Empty means `/work/home`.
    UserPath: str
    # Mount location of the code directory: absolute, distinct. Empty means `/work/code`.
    CodePath: str
    # Mount location of the model directory: absolute, distinct. Empty means `/work/model`.
    ModelPath: str
    # Minutes until the program must answer after its start; 0: the setting
    # `QUAYSIDE_START_MINUTES`.
    StartMinutes: int
    # Minutes without use after which a run of it is stopped; 0: only the limit of its person
    # counts, else the lower one.
    IdleMinutes: int
    # Hours after which a run of it is stopped; 0: only the limit of its person counts, else the
    # lower one.
    MaxRunHours: int
    # In answers to POST and PUT: sentences about a published project whose image or datasets
    # other people may not use.
    Warnings: NotRequired[list[str]]
    # Whether the caller has a run of it that is up. Computed.
    Running: bool


class ProjectData(TypedDict):
    # The project's ID.
    ProjectID: int
    # The dataset.
    Data: DataPart
    # Where it is mounted.
    MountPath: str


class RunningProjectProject2(TypedDict):
    ID: int


class RunningProjectReason(TypedDict):
    """Why it ended or failed: a code from a closed list and one plain sentence."""

    code: Literal["image_not_found", "image_pull_denied", "image_pull_failed", "image_too_large", "image_unavailable", "wrong_architecture", "data_unavailable", "code_unavailable", "mount_missing", "mount_unreadable", "insufficient_cpu", "insufficient_memory", "insufficient_gpu", "nodes_unsupported", "quota_exceeded", "command_not_found", "port_not_open", "not_answering", "exited", "oom_killed", "disk_full", "evicted", "node_lost", "engine_unreachable", "engine_error", "lost", "timeout_queued", "timeout_pulling", "timeout_creating", "timeout_starting", "timeout_stopping", "idle", "max_time", "stopped_by_user", "stopped_by_admin", "access_withdrawn"]
    # One plain sentence for the person who started the run.
    msg: str
    # One plain sentence: what the person can do.
    hint: NotRequired[str]
    # The program's exit code, if it ended by itself.
    exitCode: NotRequired[int]
    # The last 50 lines of output, at most 16 KiB.
    logTail: NotRequired[str]


class RunningProjectProgress(TypedDict):
    """The current step of the start."""

    # While a program starts, its last line of output.
    step: str
    current: int
    # Null if nobody knows.
    total: int | None
    unit: Literal["bytes", "layers", "entries", "seconds"]


class RunningProject(TypedDict):
    # Primary key of the run.
    ID: int
    # The project being run; in a body only its `ID` counts.
    Project: Project | RunningProjectProject2
    # The project's ID. A body may name the project here or in `Project`.
    ProjectID: int
    # When it left the queue; null before.
    StartTime: str | None
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: str
    # Node count. 0 or absent means the default.
    Nodes: int
    # CPU count. 0 or absent means the default.
    Cpus: int
    # Memory, in the unit that the setting `memoryUnit` names (MiB by default). 0 or absent
    # means the default.
    Memory: int
    # GPU count. 0 or absent means the default.
    Gpus: int
    # Memory of each GPU, in the same unit as `Memory`. 0 or absent means the default.
    GpuMemory: int
    # Address of the program; empty until the run is `ready`. May be left empty in a body.
    URL: str
    # Address of the control channel for people who may control the run while it is `starting`
    # or `ready`; else empty.
    ControlURL: str
    # The directory at `UserPath`: the person's home, or one of the project's own. Empty in
    # lists if the run's plan is long.
    Home: str
    # Why `Home` is not the person's home, or empty.
    HomeReason: str
    # The state of its life cycle.
    State: Literal["queued", "pulling", "creating", "starting", "ready", "stopping", "ended", "failed"]
    # Why it ended or failed: a code from a closed list and one plain sentence.
    Reason: RunningProjectReason | None
    # From 1 while it is queued, otherwise null.
    QueuePosition: int | None
    # One sentence on what it waits for in the queue; otherwise null.
    WaitsFor: str | None
    # The current step of the start.
    Progress: RunningProjectProgress | None
    # When its program first answered.
    ReadyTime: str | None
    # When it was over.
    EndTime: str | None
    # When it was last used.
    LastActivity: str | None
    # When it will be stopped by its longest allowed time.
    ExpiresAt: str | None
    # When it will be stopped because nobody uses it; null before its warning, and again once
    # somebody uses it.
    IdleExpiresAt: str | None
    # Where it runs.
    NodeNames: list[str]
    # The GPUs that it holds.
    GpuDevices: list[str]
    # Digest of the image that runs.
    ImageDigest: str
    # Digest by which the image's registry provides it, for a reference `repo/name@sha256:…`;
    # empty if it was built here.
    RegistryDigest: str


class UserLimits(TypedDict):
    """The limits of the person. `null` is unlimited; the defaults apply to absent limits."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class User(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # Never changes and is never given again.
    UserName: str
    # Where to reach the person.
    Email: str
    # Short description.
    Comment: str
    # Whether the person administers the installation.
    IsAdmin: bool
    # Whether the person is locked out.
    IsDisabled: bool
    # The limits of the person. `null` is unlimited; the defaults apply to absent limits.
    Limits: UserLimits


class GroupLimits(TypedDict):
    """The limits of each member. `null` is unlimited."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class GroupTotalLimits(TypedDict):
    """The limits of all members together: amounts only."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class Group(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Creation time.
    CreatedAt: str
    # Last update time.
    UpdatedAt: str
    # When it was deleted; null while it is not. Deletion is soft: the owner can restore.
    DeletedAt: str | None
    # Never changes and is never given again.
    GroupName: str
    # Short description.
    Comment: str
    # User names, in alphabetical order.
    Members: list[str]
    # The limits of each member. `null` is unlimited.
    Limits: GroupLimits
    # The limits of all members together: amounts only.
    TotalLimits: GroupTotalLimits


class Session(TypedDict):
    # Primary key.
    ID: int
    # Name of the person.
    UserName: str
    # When the person signed in.
    CreatedAt: str
    # When it was last used, to the minute.
    LastUsedAt: str | None
    # When it ends by itself.
    ExpiresAt: str
    # The address from which the person signed in.
    Address: str
    # The browser as it described itself then (`User-Agent`), cut off.
    Browser: str
    # Whether this request was made with it.
    IsCurrent: bool


class Token(TypedDict):
    # Primary key.
    ID: int
    # A name for its purpose.
    Name: str
    # Creation time.
    CreatedAt: str
    # When it stops working; null: never.
    ExpiresAt: str | None
    # When it was last used, to the minute.
    LastUsedAt: str | None
    # The rights of the token: ["read"], ["read", "write"], or ["run:<ID>"], which opens that
    # run's address and nothing else.
    Scopes: list[str]


class Grant(TypedDict):
    # Primary key.
    ID: int
    # Creation time.
    CreatedAt: str
    # When it was last granted again.
    UpdatedAt: str
    # The image that it is on; 0: it is on another kind.
    ImageID: int
    # The dataset that it is on; 0: it is on another kind.
    DataID: int
    # The project that it is on; 0: it is on another kind.
    ProjectID: int
    # The running project that it is on; 0: it is on another kind.
    RunID: int
    # The person that it is granted to; empty: it is granted to the other kind.
    UserName: str
    # The group that it is granted to; empty: it is granted to the other kind.
    GroupName: str
    # The right. `write` includes `use`, which includes `read`.
    Access: Literal["read", "use", "write"]
    # When it expires; null: it lasts until it is revoked.
    Until: str | None


class NewToken(TypedDict):
    # Primary key.
    ID: int
    # A name for its purpose.
    Name: str
    # Creation time.
    CreatedAt: str
    # When it stops working; null: never.
    ExpiresAt: str | None
    # When it was last used, to the minute.
    LastUsedAt: str | None
    # The rights of the token: ["read"], ["read", "write"], or ["run:<ID>"], which opens that
    # run's address and nothing else.
    Scopes: list[str]
    # The secret, answered this once.
    Token: str


class TokenCode(TypedDict):
    # Becomes the token, once.
    Code: str
    # When it stops working.
    ExpiresAt: str


class WhoamiLimits(TypedDict):
    """As they apply, groups and defaults counted. `null` is unlimited."""

    MaxRuns: int | None
    MaxCpus: int | None
    MaxMemory: int | None
    MaxGpus: int | None
    MaxRunHours: int | None
    IdleMinutes: int | None
    MaxDisk: int | None
    MaxStorage: int | None
    MaxQueued: int | None
    MaxObjects: int | None


class Whoami(TypedDict):
    UserName: str
    IsAdmin: bool
    # The groups that the caller is in.
    Groups: list[str]
    # As they apply, groups and defaults counted. `null` is unlimited.
    Limits: WhoamiLimits
    # The files address, without a slash at its end: WebDAV for homes and datasets.
    FilesURL: str
    # The unit of memory and disk.
    MemoryUnit: Literal["bytes", "MiB", "GiB"]
    # The server's version.
    Version: str


class Health(TypedDict):
    ok: bool


class ReadinessChecksStore(TypedDict):
    ok: bool
    msg: str


class ReadinessChecksEngine(TypedDict):
    ok: bool
    msg: str


class ReadinessChecksFiles(TypedDict):
    ok: bool
    msg: str


class ReadinessChecksSupervision(TypedDict):
    """With PostgreSQL: which process looks after the runs."""

    ok: bool
    msg: str


class ReadinessChecksApps(TypedDict):
    """Whether the names of runs lead anywhere, unless they are below localhost. Not counted for
    `ok`.
    """

    ok: bool
    msg: str


class ReadinessChecks(TypedDict):
    store: ReadinessChecksStore
    engine: ReadinessChecksEngine
    files: ReadinessChecksFiles
    # With PostgreSQL: which process looks after the runs.
    supervision: NotRequired[ReadinessChecksSupervision]
    # Whether the names of runs lead anywhere, unless they are below localhost. Not counted for
    # `ok`.
    apps: NotRequired[ReadinessChecksApps]


class Readiness(TypedDict):
    ok: bool
    checks: ReadinessChecks


class SettingsSettingsItem(TypedDict):
    # The environment variable.
    Name: str
    # Empty: not set. Secrets are `(hidden)`.
    Value: str
    # In words.
    Default: str
    IsDefault: bool
    Description: str


class Settings(TypedDict):
    settings: list[SettingsSettingsItem]


class CapacityNodesItemCpus(TypedDict):
    total: float
    free: float


class CapacityNodesItemMemory(TypedDict):
    total: float
    free: float


class CapacityNodesItemGpus(TypedDict):
    total: float
    free: float


class CapacityNodesItemDevicesItem(TypedDict):
    ID: str
    Model: str
    Memory: float
    # The run that uses it; shown to administrators and to the run's owner.
    RunID: int | None


class CapacityNodesItem(TypedDict):
    Name: str
    Cpus: CapacityNodesItemCpus
    Memory: CapacityNodesItemMemory
    Gpus: CapacityNodesItemGpus
    Devices: list[CapacityNodesItemDevicesItem]


class CapacityYou(TypedDict):
    """The resources that the caller's limits leave."""

    # null: unlimited.
    Cpus: float | None
    # null: unlimited.
    Memory: float | None
    # null: unlimited.
    Gpus: float | None


class CapacityDefaultsLimits(TypedDict):
    """The limits of people for whom none are set. `null` is unlimited."""

    MaxRuns: int | None
    MaxCpus: int | None
    MaxMemory: int | None
    MaxGpus: int | None
    MaxRunHours: int | None
    IdleMinutes: int | None
    MaxDisk: int | None
    MaxStorage: int | None
    MaxQueued: int | None
    MaxObjects: int | None


class CapacityDefaults(TypedDict):
    """The values that apply if a start, a project or a person names none."""

    Cpus: float
    Memory: float
    StartMinutes: float
    # The limits of people for whom none are set. `null` is unlimited.
    Limits: CapacityDefaultsLimits


class Capacity(TypedDict):
    nodes: list[CapacityNodesItem]
    # The resources that the caller's limits leave.
    you: CapacityYou
    # The values that apply if a start, a project or a person names none.
    defaults: CapacityDefaults


class RunStatsNow(TypedDict):
    Time: str
    # How many CPUs were busy for it on average since the figures before.
    Cpus: float | None
    # In the unit of the run's `Memory`, cached files not counted.
    Memory: float | None
    # The most of `Memory` in the step.
    MemoryPeak: float | None
    # Limit of `Memory`.
    MemoryLimit: float | None
    # On all of its GPUs together, in the unit of `Memory`.
    GpuMemory: float | None
    # From 0 to 1, the mean of its GPUs.
    GpuBusy: float | None
    # Bytes since the start.
    NetworkIn: int | None
    # Bytes since the start.
    NetworkOut: int | None
    # Written to its own file system, mounted directories not counted, in the unit of `Memory`;
    # looked at once a minute, or sooner.
    Disk: float | None


class RunStatsSeriesItem(TypedDict):
    Time: str
    # How many CPUs were busy for it on average since the figures before.
    Cpus: float | None
    # In the unit of the run's `Memory`, cached files not counted.
    Memory: float | None
    # The most of `Memory` in the step.
    MemoryPeak: float | None
    # Limit of `Memory`.
    MemoryLimit: float | None
    # On all of its GPUs together, in the unit of `Memory`.
    GpuMemory: float | None
    # From 0 to 1, the mean of its GPUs.
    GpuBusy: float | None
    # Bytes since the start.
    NetworkIn: int | None
    # Bytes since the start.
    NetworkOut: int | None
    # Written to its own file system, mounted directories not counted, in the unit of `Memory`;
    # looked at once a minute, or sooner.
    Disk: float | None


class RunStatsMarksItem(TypedDict):
    Time: str
    # `exit` is the run's end; after a `restart`, of the container or of Quayside, there may be
    # a gap.
    Kind: Literal["out_of_memory", "exit", "warning", "restart"]
    # One sentence.
    Text: str


class RunStats(TypedDict):
    now: RunStatsNow
    # Oldest first. `Time` is the start of a step, without an entry if nothing is known of it;
    # amounts are averages, traffic and `Disk` the last figures of the step.
    series: list[RunStatsSeriesItem]
    # Events in the time of the series, oldest first.
    marks: list[RunStatsMarksItem]


class LogLine(TypedDict):
    # When it was printed.
    time: str
    # Where it was printed.
    stream: Literal["stdout", "stderr"]
    # The line, without its end.
    text: str
    # Of a run on several nodes: the rank that printed it.
    rank: NotRequired[int]


class PreviewReason(TypedDict):
    """Why it would fail."""

    code: Literal["image_not_found", "image_pull_denied", "image_pull_failed", "image_too_large", "image_unavailable", "wrong_architecture", "data_unavailable", "code_unavailable", "mount_missing", "mount_unreadable", "insufficient_cpu", "insufficient_memory", "insufficient_gpu", "nodes_unsupported", "quota_exceeded", "command_not_found", "port_not_open", "not_answering", "exited", "oom_killed", "disk_full", "evicted", "node_lost", "engine_unreachable", "engine_error", "lost", "timeout_queued", "timeout_pulling", "timeout_creating", "timeout_starting", "timeout_stopping", "idle", "max_time", "stopped_by_user", "stopped_by_admin", "access_withdrawn"]
    # One plain sentence for the person who started the run.
    msg: str
    # One plain sentence: what the person can do.
    hint: NotRequired[str]
    # The program's exit code, if it ended by itself.
    exitCode: NotRequired[int]
    # The last 50 lines of output, at most 16 KiB.
    logTail: NotRequired[str]


class Preview(TypedDict):
    # It would start at once.
    Admitted: bool
    # It would wait for resources that others use.
    Queued: bool
    # From 1, if the run would be queued.
    QueuePosition: int | None
    # One sentence on what it would wait for in the queue; otherwise null.
    WaitsFor: str | None
    # Why it would fail.
    Reason: PreviewReason | None


class IdleRun(TypedDict):
    # The run.
    ID: int
    # Its project.
    ProjectID: int
    # The person who started it.
    UserName: str
    # When it was last used; null if it never was.
    LastActivity: str | None
    # Whole minutes without use that an idle rule counts.
    IdleMinutes: int


class FilesToken(TypedDict):
    # A Bearer token.
    Token: str
    # When it stops working.
    ExpiresAt: str


class AuditEntryThing(TypedDict):
    Type: str
    ID: int


class AuditEntry(TypedDict):
    ID: int
    Time: str
    # The user name; `-` for unauthenticated callers, empty for the service itself.
    Actor: str
    Action: str
    Thing: AuditEntryThing | None
    Outcome: Literal["done", "refused"]
    Address: str
    RequestID: str
    # Refusals of one actor, action and minute are one row, written when the minute is over:
    # Time, Address and RequestID are those of the first.
    Count: int


class Event(TypedDict):
    """One server-sent event. `event` is `<resource>.<verb>`: created, updated, deleted, restored;
    for runs also state, progress, warning, for images progress. A reader who may no longer see
    a resource gets its `deleted`. `reset`: events were missed, and everything must be read
    again.
    """

    # Grows in the order of commits; to be sent as `Last-Event-ID`.
    id: str
    event: str
    data: str


class Done(TypedDict):
    ok: Literal[True]


class FailureReason(TypedDict):
    """Why that run failed."""

    code: Literal["image_not_found", "image_pull_denied", "image_pull_failed", "image_too_large", "image_unavailable", "wrong_architecture", "data_unavailable", "code_unavailable", "mount_missing", "mount_unreadable", "insufficient_cpu", "insufficient_memory", "insufficient_gpu", "nodes_unsupported", "quota_exceeded", "command_not_found", "port_not_open", "not_answering", "exited", "oom_killed", "disk_full", "evicted", "node_lost", "engine_unreachable", "engine_error", "lost", "timeout_queued", "timeout_pulling", "timeout_creating", "timeout_starting", "timeout_stopping", "idle", "max_time", "stopped_by_user", "stopped_by_admin", "access_withdrawn"]
    # One plain sentence for the person who started the run.
    msg: str
    # One plain sentence: what the person can do.
    hint: NotRequired[str]
    # The program's exit code, if it ended by itself.
    exitCode: NotRequired[int]
    # The last 50 lines of output, at most 16 KiB.
    logTail: NotRequired[str]


class Failure(TypedDict):
    """Any status other than 200."""

    ok: Literal[False]
    # What was expected and what was received.
    msg: str
    code: Literal["invalid", "unauthorized", "forbidden", "not_found", "method_not_allowed", "conflict", "already_running", "stale", "too_large", "unsupported_media_type", "locked", "too_many_requests", "headers_too_large", "internal", "unavailable", "engine_unreachable", "storage_full", "image_not_found", "image_pull_denied", "image_pull_failed", "image_too_large", "image_unavailable", "wrong_architecture", "data_unavailable", "code_unavailable", "mount_missing", "mount_unreadable", "insufficient_cpu", "insufficient_memory", "insufficient_gpu", "nodes_unsupported", "quota_exceeded", "command_not_found", "port_not_open", "not_answering", "exited", "oom_killed", "disk_full", "evicted", "node_lost", "engine_error", "lost", "timeout_queued", "timeout_pulling", "timeout_creating", "timeout_starting", "timeout_stopping", "idle", "max_time", "stopped_by_user", "stopped_by_admin", "access_withdrawn"]
    # The body field or query parameter at fault.
    field: NotRequired[str]
    requestId: NotRequired[str]
    # Of a start: the run that failed, or that is there already.
    ID: NotRequired[int]
    # Of that run.
    State: NotRequired[Literal["queued", "pulling", "creating", "starting", "ready", "stopping", "ended", "failed"]]
    # Why that run failed.
    Reason: NotRequired[FailureReason | None]
    # Address of the existing run, if the caller may open it.
    URL: NotRequired[str]
    # Of /readyz: what each part says.
    checks: NotRequired[dict[str, Any]]
    # For administrators: what the engine or the registry said of an image that was not fetched.
    detail: NotRequired[str]


class CreateImageBody(TypedDict):
    # Display name.
    Name: str
    # Container image reference, such as `repo/name:tag` or `repo/name@sha256:…`.
    Image: str
    # Short description.
    Comment: NotRequired[str]
    # Arguments for the container: empty (the image's own, or the type's default), the text of a
    # JSON array of strings, or one line split as a POSIX shell splits words. `{port}` and
    # `{baseUrl}` are filled in.
    Command: NotRequired[str]
    # Environment: lines of `KEY=VALUE`, or the text of a JSON object of strings.
    Env: NotRequired[str]
    # The port that the service listens on inside the container: `8888` or `8888/tcp`; empty
    # means the type's default.
    Port: NotRequired[str]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # Whether every signed-in person may see and use it.
    IsPublished: NotRequired[bool]
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change or publication by anybody else ends it.
    IsTrusted: NotRequired[bool]
    WritablePaths: NotRequired[list[str]]
    # Whether the engine always has the image: it is fetched ahead, and again when its tag
    # moves, and never pruned. Set by administrators only; another `Image` from anybody else
    # ends it.
    KeepPresent: NotRequired[bool]
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: NotRequired[str]


class UpdateImageBody(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Display name.
    Name: NotRequired[str]
    # Container image reference, such as `repo/name:tag` or `repo/name@sha256:…`.
    Image: NotRequired[str]
    # Short description.
    Comment: NotRequired[str]
    # Arguments for the container: empty (the image's own, or the type's default), the text of a
    # JSON array of strings, or one line split as a POSIX shell splits words. `{port}` and
    # `{baseUrl}` are filled in.
    Command: NotRequired[str]
    # Environment: lines of `KEY=VALUE`, or the text of a JSON object of strings.
    Env: NotRequired[str]
    # The port that the service listens on inside the container: `8888` or `8888/tcp`; empty
    # means the type's default.
    Port: NotRequired[str]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # Whether every signed-in person may see and use it.
    IsPublished: NotRequired[bool]
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change or publication by anybody else ends it.
    IsTrusted: NotRequired[bool]
    WritablePaths: NotRequired[list[str]]
    # Whether the engine always has the image: it is fetched ahead, and again when its tag
    # moves, and never pruned. Set by administrators only; another `Image` from anybody else
    # ends it.
    KeepPresent: NotRequired[bool]
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: NotRequired[str]


class CreateDataBody(TypedDict):
    # How the dataset is accessed.
    Type: NotRequired[Literal["dir"]]
    # Display name.
    Name: str
    # Short description.
    Comment: NotRequired[str]
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: NotRequired[str]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # The directory, absolute below the files root. Empty on POST means a new directory of the
    # owner's. `{files URL}` followed by it (percent-encoded) is its WebDAV address.
    AccessInfo: NotRequired[str]
    # Whether every signed-in person may see and read it.
    IsPublished: NotRequired[bool]


class UpdateDataBody(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # How the dataset is accessed.
    Type: NotRequired[Literal["dir"]]
    # Display name.
    Name: NotRequired[str]
    # Short description.
    Comment: NotRequired[str]
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: NotRequired[str]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # The directory, absolute below the files root. Empty on POST means a new directory of the
    # owner's. `{files URL}` followed by it (percent-encoded) is its WebDAV address.
    AccessInfo: NotRequired[str]
    # Whether every signed-in person may see and read it.
    IsPublished: NotRequired[bool]


class CreateProjectBodyImage(TypedDict):
    ID: int


class CreateProjectBodyTrainDataItemData(TypedDict):
    ID: int


class CreateProjectBodyTrainDataItem(TypedDict):
    ID: NotRequired[int]
    Data: NotRequired[CreateProjectBodyTrainDataItemData]
    # Where it is mounted: absolute, distinct. Empty means `/work/data/` and a name made from
    # the dataset's.
    MountPath: NotRequired[str]


class CreateProjectBody(TypedDict):
    # Project name.
    ProjectName: str
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # The group whose members may see and start it; empty: none. Only its members and
    # administrators may name it.
    GroupName: NotRequired[str]
    # The kind of program: decides default port, arguments, landing page and readiness check.
    Type: Literal["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"]
    # Short description.
    Comment: NotRequired[str]
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: NotRequired[str]
    # Whether every signed-in person may see and start it.
    IsPublic: NotRequired[bool]
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change, release or publication by anybody else
    # ends it.
    IsTrusted: NotRequired[bool]
    Image: NotRequired[CreateProjectBodyImage]
    # The image's ID. A body may name the image here or in `Image`.
    ImageID: NotRequired[int]
    TrainData: NotRequired[list[CreateProjectBodyTrainDataItem]]
    # Mount location of the user directory: absolute, distinct. Empty means `/work/home`.
    UserPath: NotRequired[str]
    # Mount location of the code directory: absolute, distinct. Empty means `/work/code`.
    CodePath: NotRequired[str]
    # Mount location of the model directory: absolute, distinct. Empty means `/work/model`.
    ModelPath: NotRequired[str]
    # Minutes until the program must answer after its start; 0: the setting
    # `QUAYSIDE_START_MINUTES`.
    StartMinutes: NotRequired[int]
    # Minutes without use after which a run of it is stopped; 0: only the limit of its person
    # counts, else the lower one.
    IdleMinutes: NotRequired[int]
    # Hours after which a run of it is stopped; 0: only the limit of its person counts, else the
    # lower one.
    MaxRunHours: NotRequired[int]


class UpdateProjectBodyImage(TypedDict):
    ID: int


class UpdateProjectBodyTrainDataItemData(TypedDict):
    ID: int


class UpdateProjectBodyTrainDataItem(TypedDict):
    ID: NotRequired[int]
    Data: NotRequired[UpdateProjectBodyTrainDataItemData]
    # Where it is mounted: absolute, distinct. Empty means `/work/data/` and a name made from
    # the dataset's.
    MountPath: NotRequired[str]


class UpdateProjectBody(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Project name.
    ProjectName: NotRequired[str]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # The group whose members may see and start it; empty: none. Only its members and
    # administrators may name it.
    GroupName: NotRequired[str]
    # The kind of program: decides default port, arguments, landing page and readiness check.
    Type: NotRequired[Literal["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"]]
    # Short description.
    Comment: NotRequired[str]
    # Markdown documentation, at most 262,144 bytes in UTF-8.
    Doc: NotRequired[str]
    # Whether every signed-in person may see and start it.
    IsPublic: NotRequired[bool]
    # Whether administrators trust it: only then do runs of people other than its owner mount
    # their home. Set by administrators only; a change, release or publication by anybody else
    # ends it.
    IsTrusted: NotRequired[bool]
    Image: NotRequired[UpdateProjectBodyImage]
    # The image's ID. A body may name the image here or in `Image`.
    ImageID: NotRequired[int]
    TrainData: NotRequired[list[UpdateProjectBodyTrainDataItem]]
    # Mount location of the user directory: absolute, distinct. Empty means `/work/home`.
    UserPath: NotRequired[str]
    # Mount location of the code directory: absolute, distinct. Empty means `/work/code`.
    CodePath: NotRequired[str]
    # Mount location of the model directory: absolute, distinct. Empty means `/work/model`.
    ModelPath: NotRequired[str]
    # Minutes until the program must answer after its start; 0: the setting
    # `QUAYSIDE_START_MINUTES`.
    StartMinutes: NotRequired[int]
    # Minutes without use after which a run of it is stopped; 0: only the limit of its person
    # counts, else the lower one.
    IdleMinutes: NotRequired[int]
    # Hours after which a run of it is stopped; 0: only the limit of its person counts, else the
    # lower one.
    MaxRunHours: NotRequired[int]


class StartRunBodyProject(TypedDict):
    ID: int


class StartRunBody(TypedDict):
    Project: NotRequired[StartRunBodyProject]
    # The project's ID. A body may name the project here or in `Project`.
    ProjectID: NotRequired[int]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # Node count. 0 or absent means the default.
    Nodes: NotRequired[int]
    # CPU count. 0 or absent means the default.
    Cpus: NotRequired[int]
    # Memory, in the unit that the setting `memoryUnit` names (MiB by default). 0 or absent
    # means the default.
    Memory: NotRequired[int]
    # GPU count. 0 or absent means the default.
    Gpus: NotRequired[int]
    # Memory of each GPU, in the same unit as `Memory`. 0 or absent means the default.
    GpuMemory: NotRequired[int]


class PreviewRunBodyProject(TypedDict):
    ID: int


class PreviewRunBody(TypedDict):
    Project: NotRequired[PreviewRunBodyProject]
    # The project's ID. A body may name the project here or in `Project`.
    ProjectID: NotRequired[int]
    # Owner. Defaults to the caller; only administrators may name somebody else.
    UserName: NotRequired[str]
    # Node count. 0 or absent means the default.
    Nodes: NotRequired[int]
    # CPU count. 0 or absent means the default.
    Cpus: NotRequired[int]
    # Memory, in the unit that the setting `memoryUnit` names (MiB by default). 0 or absent
    # means the default.
    Memory: NotRequired[int]
    # GPU count. 0 or absent means the default.
    Gpus: NotRequired[int]
    # Memory of each GPU, in the same unit as `Memory`. 0 or absent means the default.
    GpuMemory: NotRequired[int]


class CreateUserBodyLimits(TypedDict):
    """The limits of the person. `null` is unlimited; the defaults apply to absent limits."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class CreateUserBody(TypedDict):
    # Never changes and is never given again.
    UserName: str
    # Write only. 1 to 1,024 bytes. Without one, nobody can sign in to the account by password;
    # an empty one changes nothing.
    Password: NotRequired[str]
    # Where to reach the person.
    Email: NotRequired[str]
    # Short description.
    Comment: NotRequired[str]
    # Whether the person administers the installation.
    IsAdmin: NotRequired[bool]
    # Whether the person is locked out.
    IsDisabled: NotRequired[bool]
    # The limits of the person. `null` is unlimited; the defaults apply to absent limits.
    Limits: NotRequired[CreateUserBodyLimits]


class UpdateUserBodyLimits(TypedDict):
    """The limits of the person. `null` is unlimited; the defaults apply to absent limits."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class UpdateUserBody(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Never changes and is never given again.
    UserName: NotRequired[str]
    # Write only. 1 to 1,024 bytes. Without one, nobody can sign in to the account by password;
    # an empty one changes nothing.
    Password: NotRequired[str]
    # Where to reach the person.
    Email: NotRequired[str]
    # Short description.
    Comment: NotRequired[str]
    # Whether the person administers the installation.
    IsAdmin: NotRequired[bool]
    # Whether the person is locked out.
    IsDisabled: NotRequired[bool]
    # The limits of the person. `null` is unlimited; the defaults apply to absent limits.
    Limits: NotRequired[UpdateUserBodyLimits]
    # Write only. The present password; required from people who change their own.
    CurrentPassword: NotRequired[str]


class CreateGroupBodyLimits(TypedDict):
    """The limits of each member. `null` is unlimited."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class CreateGroupBodyTotalLimits(TypedDict):
    """The limits of all members together: amounts only."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class CreateGroupBody(TypedDict):
    # Never changes and is never given again.
    GroupName: str
    # Short description.
    Comment: NotRequired[str]
    # User names, in alphabetical order.
    Members: NotRequired[list[str]]
    # The limits of each member. `null` is unlimited.
    Limits: NotRequired[CreateGroupBodyLimits]
    # The limits of all members together: amounts only.
    TotalLimits: NotRequired[CreateGroupBodyTotalLimits]


class UpdateGroupBodyLimits(TypedDict):
    """The limits of each member. `null` is unlimited."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class UpdateGroupBodyTotalLimits(TypedDict):
    """The limits of all members together: amounts only."""

    MaxRuns: NotRequired[int | None]
    MaxCpus: NotRequired[int | None]
    MaxMemory: NotRequired[int | None]
    MaxGpus: NotRequired[int | None]
    MaxRunHours: NotRequired[int | None]
    IdleMinutes: NotRequired[int | None]
    MaxDisk: NotRequired[int | None]
    MaxStorage: NotRequired[int | None]
    MaxQueued: NotRequired[int | None]
    MaxObjects: NotRequired[int | None]


class UpdateGroupBody(TypedDict):
    # Primary key. Assigned by the service; ignored in POST bodies.
    ID: int
    # Never changes and is never given again.
    GroupName: NotRequired[str]
    # Short description.
    Comment: NotRequired[str]
    # User names, in alphabetical order.
    Members: NotRequired[list[str]]
    # The limits of each member. `null` is unlimited.
    Limits: NotRequired[UpdateGroupBodyLimits]
    # The limits of all members together: amounts only.
    TotalLimits: NotRequired[UpdateGroupBodyTotalLimits]


class CreateTokenBody(TypedDict):
    # A name for its purpose.
    Name: str
    # When it stops working; null: never.
    ExpiresAt: NotRequired[str | None]
    Scopes: NotRequired[list[Literal["read"]] | Any | list[str]]


class CreateTokenCodeBody(TypedDict):
    # A name for its purpose.
    Name: str
    # When it stops working; null: never.
    ExpiresAt: NotRequired[str | None]
    Scopes: NotRequired[list[Literal["read"]] | Any | list[str]]
    # SHA-256 of the program's verifier, in base64url (S256 of RFC 7636).
    CodeChallenge: str


class ExchangeTokenCodeBody(TypedDict):
    # The code.
    Code: str
    # The secret whose SHA-256 is the code's challenge: 43 to 128 characters.
    CodeVerifier: str


class CreateGrantBody(TypedDict):
    # The image that it is on; 0: it is on another kind.
    ImageID: NotRequired[int]
    # The dataset that it is on; 0: it is on another kind.
    DataID: NotRequired[int]
    # The project that it is on; 0: it is on another kind.
    ProjectID: NotRequired[int]
    # The running project that it is on; 0: it is on another kind.
    RunID: NotRequired[int]
    # The person that it is granted to; empty: it is granted to the other kind.
    UserName: NotRequired[str]
    # The group that it is granted to; empty: it is granted to the other kind.
    GroupName: NotRequired[str]
    # The right. `write` includes `use`, which includes `read`.
    Access: Literal["read", "use", "write"]
    # When it expires; null: it lasts until it is revoked.
    Until: NotRequired[str | None]


ImagePart: TypeAlias = ImageWithoutDoc | ImagePart2
DataPart: TypeAlias = DataWithoutDoc | DataPart2
