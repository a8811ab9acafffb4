"""The steps of a rehearsal whose nodes are of an image that Packer made: nodes that install nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.rehearse.bakery import Bakery
from tests.rehearse.place import Place
from tests.rehearse.running import RehearsalError, Running
from tests.rehearse.scenes import Rehearsal, Scene


class BakedRehearsal(Rehearsal):
    """One rehearsal that begins with `make image`, and ends when new nodes have come to train."""

    def __init__(self, place: Place, folder: Path, began: float) -> None:
        super().__init__(place, folder, began)
        self._bakery = Bakery(place, folder / "packer")

    def scenes(self) -> Sequence[Scene]:
        """Returns the steps, in their order."""
        return (
            ("cloud up", self.cloud_up),
            ("make image", self.make_image),
            ("plan", self.plan),
            ("apply", self.apply),
            ("configure", self.configure),
            ("train", self.train),
            ("move to another flavor", self.move),
            ("a node is lost", self.lose_a_node),
            ("from launch to warm", self.tell_times),
            ("stop", self.stop),
            ("destroy", self.destroy),
        )

    def make_image(self) -> str:
        """Makes the image, and names it as the one of all nodes. A machine's first one builds the wheelhouse, too."""
        output = self._folder / "make-image.log"
        with output.open("w", encoding="utf-8") as log:
            baking = Running("make image", self._bakery.start(log), output)
        print(baking.finish(limit_s=2400), flush=True)
        image, left = self._bakery.image(), self._bakery.left()
        if image["State"] != "available" or left:
            raise RehearsalError(f"The image {image['Name']} is {image['State']}, and Packer has left {left}.")
        self.place.variables["TF_VAR_image"] = json.dumps({"owner": "self", "name": image["Name"]})
        return f"{image['Name']} is {image['State']}; Packer has left nothing else"

    def tell_times(self) -> str:
        """Tells how soon the workers were warm that came while the training went on."""
        return "; ".join(self._warmed)

    def stop(self) -> str:
        """Ends the training, which gives all workers back."""
        self._finish("stop", limit_s=60)
        self._running().process.wait(300)
        if self._workers():
            raise RehearsalError(f"{len(self._workers())} workers still run after the end of the training.")
        return "the training has ended; no worker runs"
