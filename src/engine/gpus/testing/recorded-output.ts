/**
 * Output of `nvidia-smi` on real machines, with the fields that Quayside queries.
 *
 * `captures`: from the captures of github.com/utkuozdemir/nvidia_gpu_exporter (commit e656cd81,
 * internal/captures), which mask the devices' IDs; here each device has an ID of its own. The
 * captures have units, which `nounits` leaves out.
 *
 * Messages are quoted from public reports, named beside each. No machine with a device was at hand
 * when this was written.
 */
export const fields = ["uuid", "memory.total", "memory.used", "utilization.gpu", "mig.mode.current", "gpu_recovery_action", "name"]

export const ids = {
  h100: "GPU-7fdaf0a5-179b-f636-d15d-daf243e3ff16",
  rtx2080: "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa",
  l40s: "GPU-04757e3e-3077-4e2e-b988-7e2d647b52e9",
} as const

export const captures = {
  /** nvidia-h100-80gb-hbm3, driver 590.48.01, under load. */
  h100: `${ids.h100}, 81559, 19818, 100, Disabled, None, NVIDIA H100 80GB HBM3\n`,
  /** nvidia-h100-mig, driver 590.48.01, under load. */
  h100Mig: `${ids.h100}, 81559, 11125, [N/A], Enabled, None, NVIDIA H100 80GB HBM3\n`,
  /** nvidia-geforce-rtx-2080-super, driver 595.71.05, idle. */
  rtx2080: `${ids.rtx2080}, 8192, 214, 0, [N/A], None, NVIDIA GeForce RTX 2080 SUPER\n`,
  /** nvidia-l40s, driver 595.80, idle. */
  l40s: `${ids.l40s}, 46068, 0, 100, [N/A], None, NVIDIA L40S\n`,
} as const

/**
 * A device that fell off the bus keeps its ID and its name in CSV, and each reading of the driver
 * becomes a word in brackets: nvidia-smi's words for NVML_ERROR_GPU_IS_LOST, _RESET_REQUIRED and
 * _UNKNOWN.
 */
export function unreadable(id: string, name: string, word: string): string {
  return `${id}, ${word}, ${word}, ${word}, ${word}, ${word}, ${name}\n`
}

export const messages = {
  /** github.com/NVIDIA/nvidia-docker issue 1553; drivers up to 470 then list no device at all. */
  handle: "Unable to determine the device handle for GPU 0000:09:00.0: Unknown Error\n",
  /** A report about driver 610.57.04, which goes on with the other devices. */
  handleNewer: "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n",
  /** github.com/vpenso/prometheus-slurm-exporter pull request 34. */
  lost: "Unable to determine the device handle for GPU 0000:1A:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
  /** github.com/utkuozdemir/nvidia_gpu_exporter issue 65, exit status 9. */
  driver:
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n",
  /** github.com/greshake/i3status-rust pull request 771: the driver was updated but not loaded. */
  mismatch: "Failed to initialize NVML: Driver/library version mismatch\n",
  none: "No devices were found\n",
  /** Drivers before 570 lack the field; exit status 2. */
  unknownField: (field: string) => `Field "${field}" is not a valid field to query.\n\n`,
} as const
