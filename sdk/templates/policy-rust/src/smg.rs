//! What a policy needs of the C ABI, by hand: smg/abi.h, smg/worker.h, smg/policy.h, smg/plugin.h and
//! the options service of smg/host.h. The headers say what each member means, and how long pointers
//! live. Members are only ever appended, so what stands here stays right.
#![allow(dead_code)]

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

pub const ABI_MAJOR: u16 = 0;
pub const ABI_MINOR: u16 = 3;
pub const PLUGIN_MAGIC: u32 = 0x3147_4d53;
pub const KIND_POLICY: u32 = 1;
pub const OPTION_BOOL: u32 = 1;

pub const OK: i32 = 0;
pub const NO_CHOICE: i32 = 1;
pub const E_INTERNAL: i32 = -6;

const STATUS_READY: u32 = 1;
const STATE_ELIGIBLE_MASK: u32 = 0x7 | 0x10 | 0x100 | 0x200 | 0x400;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct View {
    pub data: *const u8,
    pub size: u64,
}

impl View {
    pub const EMPTY: View = View { data: std::ptr::null(), size: 0 };
    pub const fn of(text: &'static str) -> View {
        View { data: text.as_ptr(), size: text.len() as u64 }
    }
}

#[repr(C)]
pub struct Error {
    pub text: *mut u8,
    pub capacity: u64,
    pub size: u64,
}

#[repr(C)]
pub struct Host {
    pub struct_size: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub service: extern "C" fn(*const Host, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct OptionsService {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_bool: extern "C" fn(*const Host, View, *mut u32) -> i32,
    pub get_int: extern "C" fn(*const Host, View, *mut i64) -> i32,
    pub get_float: extern "C" fn(*const Host, View, *mut f64) -> i32,
    pub get_string: extern "C" fn(*const Host, View, *mut View) -> i32,
    pub get_list: extern "C" fn(*const Host, View, *mut *const View, *mut u32) -> i32,
}

impl Host {
    /// An option of the descriptor. The host has checked it, so it is there.
    ///
    /// # Safety
    /// `self` must be what the host gave to create().
    pub unsafe fn bool_option(&self, name: &'static str, otherwise: bool) -> bool {
        let service = (self.service)(self, b"smg.options/0\0".as_ptr() as *const c_char);
        let mut value = otherwise as u32;
        if let Some(options) = (service as *const OptionsService).as_ref() {
            (options.get_bool)(self, View::of(name), &mut value);
        }
        value != 0
    }
}

#[repr(C)]
pub struct WorkerLive {
    pub state: AtomicU32,
    pub report_valid: AtomicU32,
    pub waiting_requests: AtomicI64,
    pub running_requests: AtomicI64,
    pub waiting_uncached_tokens: AtomicI64,
    pub token_usage: AtomicU64, // f64::from_bits
    pub throughput: AtomicU64,  // f64::from_bits
    pub report_time: AtomicU64,
    pub report_sequence: AtomicU64,
    pub in_flight: AtomicU32,
    pub tracked_load: AtomicU32,
    pub dispatched: AtomicU64,
    pub reserved: [u64; 6],
    pub routing_keys: AtomicU32,
    pub reserved_keys: u32,
}

#[repr(C)]
pub struct Label {
    pub key: View,
    pub value: View,
}

#[repr(C)]
pub struct Worker {
    pub struct_size: u32,
    pub kind: u32,
    pub reference: u64,
    pub slot: u32,
    pub dp_rank: i32,
    pub dp_size: u32,
    pub priority: u32,
    pub cost: f64,
    pub id: View,
    pub url: View,
    pub base_url: View,
    pub scheme: View,
    pub host: View,
    pub base_path: View,
    pub port: u32,
    pub model_count: u32,
    pub models: *const View,
    pub runtime: View,
    pub api_key: View,
    pub labels: *const Label,
    pub label_count: u32,
    pub reserved: u32,
    pub live: *const WorkerLive,
    pub tls: *const WorkerTls,
}

#[repr(C)]
pub struct WorkerTls {
    pub struct_size: u32,
    pub ca_file_count: u32,
    pub ca_files: *const View,
    pub client_cert: View,
    pub client_key: View,
}

#[repr(C)]
pub struct Pool {
    pub struct_size: u32,
    pub count: u32,
    pub workers: *const *const Worker,
    pub live: *const *const WorkerLive,
    pub generation: u64,
    pub epoch: *const AtomicU64,
    pub model: View,
}

impl Pool {
    /// # Safety
    /// `self` must be what the host gave to select(), and `i` below `count`.
    pub unsafe fn worker(&self, i: u32) -> &Worker {
        &**self.workers.add(i as usize)
    }
    /// # Safety
    /// As for worker().
    pub unsafe fn live(&self, i: u32) -> &WorkerLive {
        &**self.live.add(i as usize)
    }
    /// # Safety
    /// As for worker().
    pub unsafe fn eligible(&self, i: u32) -> bool {
        self.live(i).state.load(Ordering::Relaxed) & STATE_ELIGIBLE_MASK == STATUS_READY
    }
}

#[repr(C)]
pub struct PolicyRequest {
    pub struct_size: u32,
    pub endpoint: u32,
    pub leg: u32,
    pub attempt: u32,
    pub now: u64,
    pub random: u64,
    pub model: View,
    pub text: View,
    pub tokens: *const u32,
    pub token_count: u64,
    pub routing_key: View,
    pub cache_namespace: View,
    pub headers: *const c_void,
    pub header_count: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct PolicyApi {
    pub struct_size: u32,
    pub needs: u32,
    pub create: extern "C" fn(*const Host, *mut *mut c_void, *mut Error) -> i32,
    pub destroy: extern "C" fn(*mut c_void),
    pub select: extern "C" fn(*mut c_void, *const PolicyRequest, *const Pool, *mut u32) -> i32,
    pub pool_changed: Option<extern "C" fn(*mut c_void, *const Pool, *const Pool)>,
    pub dispatched: Option<extern "C" fn(*mut c_void, *const PolicyRequest, *const Worker)>,
    pub completed: Option<extern "C" fn(*mut c_void, *const Worker, u32)>,
}

#[repr(C)]
pub struct PluginOption {
    pub struct_size: u32,
    pub kind: u32,
    pub name: View,
    pub default_value: View,
    pub help: View,
    pub minimum: f64, // minimum > maximum: no range
    pub maximum: f64,
    pub choices: *const View,
    pub choice_count: u32,
    pub exclusive_minimum: u32,
    pub flag: View,
    pub label_default: View,
}

#[repr(C)]
pub struct Plugin {
    pub struct_size: u32,
    pub kind: u32,
    pub name: View,
    pub version: View,
    pub vendor: View,
    pub summary: View,
    pub options: *const PluginOption,
    pub option_count: u32,
    pub flags: u32,
    pub api: *const c_void,
    pub extension: Option<extern "C" fn(*const c_char) -> *const c_void>,
}

#[repr(C)]
pub struct Library {
    pub magic: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub struct_size: u32,
    pub plugin_count: u32,
    pub build: View,
    pub plugins: *const Plugin,
    pub plugin_stride: u64,
}

// Constant tables are shared between threads as they are.
unsafe impl Sync for PluginOption {}
unsafe impl Sync for Plugin {}
unsafe impl Sync for Library {}

// The sizes of ABI 0.3, as the C compiler lays them out.
const _: () = assert!(std::mem::size_of::<WorkerLive>() == 136);
const _: () = assert!(std::mem::size_of::<Worker>() == 216);
const _: () = assert!(std::mem::size_of::<WorkerTls>() == 48);
const _: () = assert!(std::mem::size_of::<Pool>() == 56);
const _: () = assert!(std::mem::size_of::<PolicyRequest>() == 128);
const _: () = assert!(std::mem::size_of::<PolicyApi>() == 56);
const _: () = assert!(std::mem::size_of::<PluginOption>() == 120);
const _: () = assert!(std::mem::size_of::<Plugin>() == 104);
const _: () = assert!(std::mem::size_of::<Library>() == 48);
