// One program for Calico's policy agent and its network plugin: its name chooses.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/projectcalico/calico/cni-plugin/pkg/plugin"
	"github.com/projectcalico/calico/felix/daemon"
)

const version = "v3.28.5"

func main() {
	switch filepath.Base(os.Args[0]) {
	case "calico": // The container runtime calls it.
		plugin.Main(version)
	case "calico-felix": // All settings are FELIX_* variables.
		daemon.Run("/nonexistent/felix.cfg", version, "0", "2025-08-13")
	default:
		fmt.Fprintln(os.Stderr, "call me calico or calico-felix")
		os.Exit(2)
	}
}
