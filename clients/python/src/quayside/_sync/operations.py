# Made by script/python-client from the API's own description; a test fails when it is not current.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .. import models

Query = Mapping[str, Any]


class Operations:
    """A method for each operation of the API; `Client` sends the requests.

    Bodies and answers are dictionaries with the API's own field names. An operation that fails
    raises `APIError`. Times are strings in RFC 3339; `None` leaves a parameter out.
    """

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Any:
        raise NotImplementedError

    def create_image(
        self,
        body: models.CreateImageBody,
    ) -> models.Image:
        """Create an image."""
        answer: models.Image = self.request(
            "POST",
            "/image",
            body=body,
        )
        return answer

    def update_image(
        self,
        body: models.UpdateImageBody,
        *,
        if_match: str | None = None,
    ) -> models.Image:
        """Change an image; absent fields keep their value."""
        answer: models.Image = self.request(
            "PUT",
            "/image",
            body=body,
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def delete_image(
        self,
        ID: int,
        *,
        if_match: str | None = None,
    ) -> models.Done:
        """Delete an image; it can be restored."""
        answer: models.Done = self.request(
            "DELETE",
            "/image",
            query={
                "ID": ID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def read_image(
        self,
        *,
        ID: int | None = None,
        CreatedAt: str | None = None,
        UpdatedAt: str | None = None,
        DeletedAt: str | int | float | bool | None = None,
        Name: str | None = None,
        Image: str | None = None,
        Comment: str | None = None,
        Command: str | None = None,
        Env: str | None = None,
        Port: str | None = None,
        UserName: str | None = None,
        IsPublished: bool | None = None,
        IsTrusted: bool | None = None,
        KeepPresent: bool | None = None,
        Doc: str | None = None,
    ) -> models.Image:
        """Read one image by ID, or by other fields when they pick exactly one."""
        answer: models.Image = self.request(
            "GET",
            "/image",
            query={
                "ID": ID,
                "CreatedAt": CreatedAt,
                "UpdatedAt": UpdatedAt,
                "DeletedAt": DeletedAt,
                "Name": Name,
                "Image": Image,
                "Comment": Comment,
                "Command": Command,
                "Env": Env,
                "Port": Port,
                "UserName": UserName,
                "IsPublished": IsPublished,
                "IsTrusted": IsTrusted,
                "KeepPresent": KeepPresent,
                "Doc": Doc,
            },
        )
        return answer

    def restore_image(
        self,
        ID: int,
    ) -> models.Image:
        """Undo the deletion of an image."""
        answer: models.Image = self.request(
            "POST",
            "/image/restore",
            query={
                "ID": ID,
            },
        )
        return answer

    def list_images(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        UserName: str | None = None,
        IsPublish: Literal[0, 1] | None = None,
        q: str | None = None,
        Deleted: Literal[0, 1] | None = None,
        Name: str | None = None,
        sort: Literal["ID", "-ID", "CreatedAt", "-CreatedAt", "UpdatedAt", "-UpdatedAt", "Name", "-Name"] | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Image]:
        """List images that the caller may see, newest first."""
        answer: models.Page[models.Image] = self.request(
            "GET",
            "/images",
            query={
                "ID": ID,
                "UserName": UserName,
                "IsPublish": IsPublish,
                "q": q,
                "Deleted": Deleted,
                "Name": Name,
                "sort": sort,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def check_image(
        self,
        ID: int,
    ) -> models.ImageCheck:
        """Describe the image as the engine has it, without fetching it."""
        answer: models.ImageCheck = self.request(
            "GET",
            "/image/check",
            query={
                "ID": ID,
            },
        )
        return answer

    def pull_image(
        self,
        ID: int,
        *,
        prefer: str | None = None,
    ) -> models.ImageCheck:
        """Fetch the image now, with `image.progress` events; answers when it is there, with
        `Prefer: respond-async` at once.
        """
        answer: models.ImageCheck = self.request(
            "POST",
            "/image/pull",
            query={
                "ID": ID,
            },
            headers={
                "Prefer": prefer,
            },
        )
        return answer

    def list_stored_images(
        self,
        *,
        Days: int | None = None,
        MaxSize: int | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.StoredImage]:
        """List the images on the engine's disk, and what pruning by these rules would remove;
        removes nothing.
        """
        answer: models.Page[models.StoredImage] = self.request(
            "GET",
            "/stored_images",
            query={
                "Days": Days,
                "MaxSize": MaxSize,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def create_data(
        self,
        body: models.CreateDataBody,
    ) -> models.Data:
        """Create a dataset."""
        answer: models.Data = self.request(
            "POST",
            "/data",
            body=body,
        )
        return answer

    def update_data(
        self,
        body: models.UpdateDataBody,
        *,
        if_match: str | None = None,
    ) -> models.Data:
        """Change a dataset; absent fields keep their value."""
        answer: models.Data = self.request(
            "PUT",
            "/data",
            body=body,
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def delete_data(
        self,
        ID: int,
        *,
        if_match: str | None = None,
    ) -> models.Done:
        """Delete a dataset; it can be restored."""
        answer: models.Done = self.request(
            "DELETE",
            "/data",
            query={
                "ID": ID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def read_data(
        self,
        ID: int,
    ) -> models.Data:
        """Read one, by its ID."""
        answer: models.Data = self.request(
            "GET",
            "/data",
            query={
                "ID": ID,
            },
        )
        return answer

    def list_data(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        UserName: str | None = None,
        IsPublish: Literal[0, 1] | None = None,
        q: str | None = None,
        Deleted: Literal[0, 1] | None = None,
        Name: str | None = None,
        Type: Literal["dir"] | None = None,
        sort: Literal["ID", "-ID", "CreatedAt", "-CreatedAt", "UpdatedAt", "-UpdatedAt", "Name", "-Name"] | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Data]:
        """Read one dataset by ID alone; otherwise list datasets that the caller may see, newest
        first.
        """
        answer: models.Page[models.Data] = self.request(
            "GET",
            "/data",
            query={
                "ID": ID,
                "UserName": UserName,
                "IsPublish": IsPublish,
                "q": q,
                "Deleted": Deleted,
                "Name": Name,
                "Type": Type,
                "sort": sort,
                "page": page or 1,
                "pageSize": pageSize,
            },
        )
        return answer

    def restore_data(
        self,
        ID: int,
    ) -> models.Data:
        """Undo the deletion of a dataset."""
        answer: models.Data = self.request(
            "POST",
            "/data/restore",
            query={
                "ID": ID,
            },
        )
        return answer

    def create_project(
        self,
        body: models.CreateProjectBody,
    ) -> models.Project:
        """Create a project."""
        answer: models.Project = self.request(
            "POST",
            "/project",
            body=body,
        )
        return answer

    def update_project(
        self,
        body: models.UpdateProjectBody,
        *,
        if_match: str | None = None,
    ) -> models.Project:
        """Change a project; absent fields keep their value."""
        answer: models.Project = self.request(
            "PUT",
            "/project",
            body=body,
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def delete_project(
        self,
        ID: int,
        *,
        if_match: str | None = None,
    ) -> models.Done:
        """Delete a project; it can be restored."""
        answer: models.Done = self.request(
            "DELETE",
            "/project",
            query={
                "ID": ID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def read_project(
        self,
        *,
        ID: int | None = None,
        CreatedAt: str | None = None,
        UpdatedAt: str | None = None,
        DeletedAt: str | int | float | bool | None = None,
        ProjectName: str | None = None,
        UserName: str | None = None,
        GroupName: str | None = None,
        Type: Literal["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"] | None = None,
        Comment: str | None = None,
        Doc: str | None = None,
        IsPublic: bool | None = None,
        IsTrusted: bool | None = None,
        ImageID: int | None = None,
        UserPath: str | None = None,
        CodePath: str | None = None,
        ModelPath: str | None = None,
        StartMinutes: int | None = None,
        IdleMinutes: int | None = None,
        MaxRunHours: int | None = None,
        Running: bool | None = None,
    ) -> models.Project:
        """Read one project by ID, or by other fields when they pick exactly one."""
        answer: models.Project = self.request(
            "GET",
            "/project",
            query={
                "ID": ID,
                "CreatedAt": CreatedAt,
                "UpdatedAt": UpdatedAt,
                "DeletedAt": DeletedAt,
                "ProjectName": ProjectName,
                "UserName": UserName,
                "GroupName": GroupName,
                "Type": Type,
                "Comment": Comment,
                "Doc": Doc,
                "IsPublic": IsPublic,
                "IsTrusted": IsTrusted,
                "ImageID": ImageID,
                "UserPath": UserPath,
                "CodePath": CodePath,
                "ModelPath": ModelPath,
                "StartMinutes": StartMinutes,
                "IdleMinutes": IdleMinutes,
                "MaxRunHours": MaxRunHours,
                "Running": Running,
            },
        )
        return answer

    def restore_project(
        self,
        ID: int,
    ) -> models.Project:
        """Undo the deletion of a project."""
        answer: models.Project = self.request(
            "POST",
            "/project/restore",
            query={
                "ID": ID,
            },
        )
        return answer

    def list_projects(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        UserName: str | None = None,
        IsPublish: Literal[0, 1] | None = None,
        q: str | None = None,
        Deleted: Literal[0, 1] | None = None,
        ProjectName: str | None = None,
        Type: Literal["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"] | None = None,
        GroupName: str | None = None,
        sort: Literal["ID", "-ID", "CreatedAt", "-CreatedAt", "UpdatedAt", "-UpdatedAt", "ProjectName", "-ProjectName"] | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Project]:
        """List projects that the caller may see, newest first."""
        answer: models.Page[models.Project] = self.request(
            "GET",
            "/projects",
            query={
                "ID": ID,
                "UserName": UserName,
                "IsPublish": IsPublish,
                "q": q,
                "Deleted": Deleted,
                "ProjectName": ProjectName,
                "Type": Type,
                "GroupName": GroupName,
                "sort": sort,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def copy_project(
        self,
        ID: int,
    ) -> models.Project:
        """Copy the project; the copy belongs to the caller and has the same references."""
        answer: models.Project = self.request(
            "POST",
            "/project/copy",
            query={
                "ID": ID,
            },
        )
        return answer

    def release_project(
        self,
        ID: int,
    ) -> models.Project:
        """Release the owner's code as it is now: the code directory of others who start the
        project begins as a copy of it.
        """
        answer: models.Project = self.request(
            "POST",
            "/project/release",
            query={
                "ID": ID,
            },
        )
        return answer

    def start_run(
        self,
        body: models.StartRunBody,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.RunningProject:
        """Start a project; answers when it is ready or has failed."""
        answer: models.RunningProject = self.request(
            "POST",
            "/running_project",
            body=body,
            headers={
                "Prefer": prefer,
                "Idempotency-Key": idempotency_key,
            },
        )
        return answer

    def stop_run(
        self,
        *,
        ID: int | None = None,
        ProjectID: int | None = None,
        if_match: str | None = None,
    ) -> models.Done:
        """Stop a run; answers when its container is removed."""
        answer: models.Done = self.request(
            "DELETE",
            "/running_project",
            query={
                "ID": ID,
                "ProjectID": ProjectID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def read_run(
        self,
        *,
        ID: int | None = None,
        ProjectID: int | None = None,
        StartTime: str | int | float | bool | None = None,
        UserName: str | None = None,
        Nodes: int | None = None,
        Cpus: int | None = None,
        Memory: int | None = None,
        Gpus: int | None = None,
        GpuMemory: int | None = None,
        URL: str | None = None,
        ControlURL: str | None = None,
        Home: str | None = None,
        HomeReason: str | None = None,
        State: Literal["queued", "pulling", "creating", "starting", "ready", "stopping", "ended", "failed"] | None = None,
        QueuePosition: str | int | float | bool | None = None,
        ReadyTime: str | int | float | bool | None = None,
        EndTime: str | int | float | bool | None = None,
        LastActivity: str | int | float | bool | None = None,
        ExpiresAt: str | int | float | bool | None = None,
        IdleExpiresAt: str | int | float | bool | None = None,
        ImageDigest: str | None = None,
        RegistryDigest: str | None = None,
    ) -> models.RunningProject:
        """Read one run by ID, or by other fields when they pick exactly one."""
        answer: models.RunningProject = self.request(
            "GET",
            "/running_project",
            query={
                "ID": ID,
                "ProjectID": ProjectID,
                "StartTime": StartTime,
                "UserName": UserName,
                "Nodes": Nodes,
                "Cpus": Cpus,
                "Memory": Memory,
                "Gpus": Gpus,
                "GpuMemory": GpuMemory,
                "URL": URL,
                "ControlURL": ControlURL,
                "Home": Home,
                "HomeReason": HomeReason,
                "State": State,
                "QueuePosition": QueuePosition,
                "ReadyTime": ReadyTime,
                "EndTime": EndTime,
                "LastActivity": LastActivity,
                "ExpiresAt": ExpiresAt,
                "IdleExpiresAt": IdleExpiresAt,
                "ImageDigest": ImageDigest,
                "RegistryDigest": RegistryDigest,
            },
        )
        return answer

    def repeat_run(
        self,
        ID: int,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.RunningProject:
        """Start a run again with the same amounts, image and mounts, as far as its person may
        still use them; answers as a start does.
        """
        answer: models.RunningProject = self.request(
            "POST",
            "/running_project/repeat",
            query={
                "ID": ID,
            },
            headers={
                "Prefer": prefer,
                "Idempotency-Key": idempotency_key,
            },
        )
        return answer

    def preview_run(
        self,
        body: models.PreviewRunBody,
    ) -> models.Preview:
        """Predict the outcome of a start with this body; nothing is started, and the refusals are
        those of a start.
        """
        answer: models.Preview = self.request(
            "POST",
            "/preview",
            body=body,
        )
        return answer

    def list_runs(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        UserName: str | None = None,
        ProjectID: int | None = None,
        State: Literal["queued", "pulling", "creating", "starting", "ready", "stopping", "ended", "failed"] | None = None,
        sort: Literal["ID", "-ID", "CreatedAt", "-CreatedAt", "UpdatedAt", "-UpdatedAt"] | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.RunningProject]:
        """List runs that are queued, starting or running; with State=ended those that have ended.
        """
        answer: models.Page[models.RunningProject] = self.request(
            "GET",
            "/running_projects",
            query={
                "ID": ID,
                "UserName": UserName,
                "ProjectID": ProjectID,
                "State": State,
                "sort": sort,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def read_capacity(
        self,
    ) -> models.Capacity:
        """Read the nodes' capacity, what is free, how much of it the caller may still use, and the
        defaults of starts.
        """
        answer: models.Capacity = self.request(
            "GET",
            "/capacity",
        )
        return answer

    def list_idle(
        self,
        *,
        Minutes: int,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.IdleRun]:
        """List the runs that an idle rule of so many minutes would end now, newest first; ends
        nothing.
        """
        answer: models.Page[models.IdleRun] = self.request(
            "GET",
            "/idle",
            query={
                "Minutes": Minutes,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def run_stats(
        self,
        ID: int,
        *,
        From: str | None = None,
        To: str | None = None,
        Step: int | None = None,
    ) -> models.RunStats:
        """Read what the run uses and used, also after its end; unknown figures are null."""
        answer: models.RunStats = self.request(
            "GET",
            "/running_project/stats",
            query={
                "ID": ID,
                "From": From,
                "To": To,
                "Step": Step,
            },
        )
        return answer

    def keep_run(
        self,
        ID: int,
    ) -> models.RunningProject:
        """Reset the run's idle time, as if it had been used just now."""
        answer: models.RunningProject = self.request(
            "POST",
            "/running_project/keep",
            query={
                "ID": ID,
            },
        )
        return answer

    def whoami(
        self,
    ) -> models.Whoami:
        """Read who the caller is."""
        answer: models.Whoami = self.request(
            "GET",
            "/whoami",
        )
        return answer

    def create_user(
        self,
        body: models.CreateUserBody,
    ) -> models.User:
        """Create an account."""
        answer: models.User = self.request(
            "POST",
            "/user",
            body=body,
        )
        return answer

    def update_user(
        self,
        body: models.UpdateUserBody,
        *,
        if_match: str | None = None,
    ) -> models.User:
        """Change an account; a person may change their own password (CurrentPassword needed)."""
        answer: models.User = self.request(
            "PUT",
            "/user",
            body=body,
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def delete_user(
        self,
        ID: int,
        *,
        if_match: str | None = None,
    ) -> models.Done:
        """Delete an account: its runs are stopped; its images, datasets and projects stay."""
        answer: models.Done = self.request(
            "DELETE",
            "/user",
            query={
                "ID": ID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def read_user(
        self,
        *,
        ID: int | None = None,
        UserName: str | None = None,
    ) -> models.User:
        """Read one account."""
        answer: models.User = self.request(
            "GET",
            "/user",
            query={
                "ID": ID,
                "UserName": UserName,
            },
        )
        return answer

    def list_users(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        UserName: str | None = None,
        q: str | None = None,
        sort: Literal["ID", "-ID", "CreatedAt", "-CreatedAt", "UpdatedAt", "-UpdatedAt"] | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.User]:
        """List accounts, newest first."""
        answer: models.Page[models.User] = self.request(
            "GET",
            "/users",
            query={
                "ID": ID,
                "UserName": UserName,
                "q": q,
                "sort": sort,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def create_group(
        self,
        body: models.CreateGroupBody,
    ) -> models.Group:
        """Create a group."""
        answer: models.Group = self.request(
            "POST",
            "/group",
            body=body,
        )
        return answer

    def update_group(
        self,
        body: models.UpdateGroupBody,
        *,
        if_match: str | None = None,
    ) -> models.Group:
        """Change a group."""
        answer: models.Group = self.request(
            "PUT",
            "/group",
            body=body,
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def delete_group(
        self,
        ID: int,
        *,
        if_match: str | None = None,
    ) -> models.Done:
        """Delete a group."""
        answer: models.Done = self.request(
            "DELETE",
            "/group",
            query={
                "ID": ID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def read_group(
        self,
        *,
        ID: int | None = None,
        GroupName: str | None = None,
    ) -> models.Group:
        """Read one group."""
        answer: models.Group = self.request(
            "GET",
            "/group",
            query={
                "ID": ID,
                "GroupName": GroupName,
            },
        )
        return answer

    def list_groups(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        GroupName: str | None = None,
        q: str | None = None,
        sort: Literal["ID", "-ID", "CreatedAt", "-CreatedAt", "UpdatedAt", "-UpdatedAt"] | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Group]:
        """List groups: for members their own, for administrators all."""
        answer: models.Page[models.Group] = self.request(
            "GET",
            "/groups",
            query={
                "ID": ID,
                "GroupName": GroupName,
                "q": q,
                "sort": sort,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def create_token(
        self,
        body: models.CreateTokenBody,
    ) -> models.NewToken:
        """Create a token for oneself; its secret is answered once."""
        answer: models.NewToken = self.request(
            "POST",
            "/token",
            body=body,
        )
        return answer

    def delete_token(
        self,
        ID: int,
        *,
        if_match: str | None = None,
    ) -> models.Done:
        """Revoke one of one's own tokens."""
        answer: models.Done = self.request(
            "DELETE",
            "/token",
            query={
                "ID": ID,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def list_tokens(
        self,
        *,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Token]:
        """List one's own tokens."""
        answer: models.Page[models.Token] = self.request(
            "GET",
            "/tokens",
            query={
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def create_token_code(
        self,
        body: models.CreateTokenCodeBody,
    ) -> models.TokenCode:
        """Allow a program a token: it exchanges the code for it, once, within a minute."""
        answer: models.TokenCode = self.request(
            "POST",
            "/token/code",
            body=body,
        )
        return answer

    def exchange_token_code(
        self,
        body: models.ExchangeTokenCodeBody,
    ) -> models.NewToken:
        """Exchange a code, with the verifier of its challenge, for the token that its person
        allowed.
        """
        answer: models.NewToken = self.request(
            "POST",
            "/token/exchange",
            body=body,
        )
        return answer

    def create_grant(
        self,
        body: models.CreateGrantBody,
    ) -> models.Grant:
        """Grant a person or a group a right on an image, dataset, project or run; replaces an
        earlier grant to the same one.
        """
        answer: models.Grant = self.request(
            "POST",
            "/grant",
            body=body,
        )
        return answer

    def delete_grant(
        self,
        *,
        ID: int | None = None,
        ImageID: int | None = None,
        DataID: int | None = None,
        ProjectID: int | None = None,
        RunID: int | None = None,
        UserName: str | None = None,
        GroupName: str | None = None,
        Access: Literal["read", "use", "write"] | None = None,
        Until: str | int | float | bool | None = None,
        if_match: str | None = None,
    ) -> models.Done:
        """Revoke a grant, by ID or by other fields when they pick exactly one."""
        answer: models.Done = self.request(
            "DELETE",
            "/grant",
            query={
                "ID": ID,
                "ImageID": ImageID,
                "DataID": DataID,
                "ProjectID": ProjectID,
                "RunID": RunID,
                "UserName": UserName,
                "GroupName": GroupName,
                "Access": Access,
                "Until": Until,
            },
            headers={
                "If-Match": if_match,
            },
        )
        return answer

    def list_grants(
        self,
        *,
        ID: int | Sequence[int] | None = None,
        ImageID: int | None = None,
        DataID: int | None = None,
        ProjectID: int | None = None,
        RunID: int | None = None,
        UserName: str | None = None,
        GroupName: str | None = None,
        Access: Literal["read", "use", "write"] | None = None,
        Until: str | int | float | bool | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Grant]:
        """List grants on one's own resources, and those to oneself or one's groups, newest first.
        """
        answer: models.Page[models.Grant] = self.request(
            "GET",
            "/grants",
            query={
                "ID": ID,
                "ImageID": ImageID,
                "DataID": DataID,
                "ProjectID": ProjectID,
                "RunID": RunID,
                "UserName": UserName,
                "GroupName": GroupName,
                "Access": Access,
                "Until": Until,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def list_sessions(
        self,
        *,
        UserName: str | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.Session]:
        """List the browser sessions that last: one's own, for administrators everybody's, newest
        first.
        """
        answer: models.Page[models.Session] = self.request(
            "GET",
            "/sessions",
            query={
                "UserName": UserName,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def create_files_token(
        self,
    ) -> models.FilesToken:
        """Create a Bearer token for the files address only; it lasts 5 minutes."""
        answer: models.FilesToken = self.request(
            "POST",
            "/files-token",
        )
        return answer

    def list_audit(
        self,
        *,
        UserName: str | None = None,
        Action: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        page: int | None = None,
        pageSize: int | None = None,
    ) -> models.Page[models.AuditEntry]:
        """List the audit, newest first."""
        answer: models.Page[models.AuditEntry] = self.request(
            "GET",
            "/audit",
            query={
                "UserName": UserName,
                "Action": Action,
                "from": from_,
                "to": to,
                "page": page,
                "pageSize": pageSize,
            },
        )
        return answer

    def read_settings(
        self,
    ) -> models.Settings:
        """Read the settings in force; secrets are hidden."""
        answer: models.Settings = self.request(
            "GET",
            "/settings",
        )
        return answer

    def healthz(
        self,
    ) -> models.Health:
        """Whether the process answers."""
        answer: models.Health = self.request(
            "GET",
            "/healthz",
        )
        return answer

    def readyz(
        self,
    ) -> models.Readiness:
        """Whether store, engine and files can be used."""
        answer: models.Readiness = self.request(
            "GET",
            "/readyz",
        )
        return answer
