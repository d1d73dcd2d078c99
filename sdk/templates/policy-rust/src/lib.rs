//! my_plugin: the eligible worker with the fewest requests of this gateway in flight, weighed by the
//! worker's cost. smg.rs has what this needs of the C ABI.
mod smg;

use std::ffi::c_void;
use std::mem::size_of;
use std::panic::catch_unwind;
use std::sync::atomic::Ordering;

use smg::{Error, Host, Library, Plugin, PluginOption, PolicyApi, PolicyRequest, Pool, View};

struct Policy {
    use_cost: bool,
}

impl Policy {
    /// On every loop thread at once: it must not block, and changes nothing without an atomic.
    unsafe fn select(&self, request: &PolicyRequest, pool: &Pool) -> Option<u32> {
        let mut random = request.random;
        let mut best: Option<(u32, f64)> = None;
        let mut ties = 0;
        for i in (0..pool.count).filter(|&i| pool.eligible(i)) {
            let mut load = f64::from(pool.live(i).in_flight.load(Ordering::Relaxed)) + 1.0;
            if self.use_cost {
                load *= pool.worker(i).cost;
            }
            match best {
                Some((_, least)) if load > least => {}
                Some((_, least)) if load == least => {
                    // Equal ones are equally likely: the k-th replaces the choice with probability 1/k.
                    ties += 1;
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    if (random >> 33) % ties == 0 {
                        best = Some((i, load));
                    }
                }
                _ => {
                    ties = 1;
                    best = Some((i, load));
                }
            }
        }
        best.map(|(index, _)| index)
    }
}

extern "C" fn create(host: *const Host, out: *mut *mut c_void, _error: *mut Error) -> i32 {
    let made = catch_unwind(|| unsafe { Policy { use_cost: (*host).bool_option("use_cost", true) } });
    match made {
        Ok(policy) => unsafe {
            *out = Box::into_raw(Box::new(policy)) as *mut c_void;
            smg::OK
        },
        Err(_) => smg::E_INTERNAL,
    }
}

extern "C" fn destroy(raw: *mut c_void) {
    drop(unsafe { Box::from_raw(raw as *mut Policy) });
}

// No panic may leave a function of the table.
extern "C" fn select(
    raw: *mut c_void,
    request: *const PolicyRequest,
    pool: *const Pool,
    index: *mut u32,
) -> i32 {
    let choice = catch_unwind(|| unsafe { (*(raw as *const Policy)).select(&*request, &*pool) });
    match choice {
        Ok(Some(chosen)) => {
            unsafe { *index = chosen };
            smg::OK
        }
        Ok(None) => smg::NO_CHOICE,
        Err(_) => smg::E_INTERNAL,
    }
}

static API: PolicyApi = PolicyApi {
    struct_size: size_of::<PolicyApi>() as u32,
    needs: 0,
    create,
    destroy,
    select,
    pool_changed: None,
    dispatched: None,
    completed: None,
};

static OPTIONS: [PluginOption; 1] = [PluginOption {
    struct_size: size_of::<PluginOption>() as u32,
    kind: smg::OPTION_BOOL,
    name: View::of("use_cost"),
    default_value: View::of("true"),
    help: View::of("weigh a worker's load with its cost"),
    minimum: 1.0,
    maximum: 0.0,
    choices: std::ptr::null(),
    choice_count: 0,
    exclusive_minimum: 0,
    flag: View::EMPTY,
    label_default: View::EMPTY,
}];

// No SMG_PLUGIN_UNLOADABLE among the flags: Rust's standard library has thread locals with
// destructors, so an old version stays mapped after a reload.
static PLUGINS: [Plugin; 1] = [Plugin {
    struct_size: size_of::<Plugin>() as u32,
    kind: smg::KIND_POLICY,
    name: View::of("my_plugin"),
    version: View::of("1.0"),
    vendor: View::of("me"),
    summary: View::of("the eligible worker with the least to do"),
    options: OPTIONS.as_ptr(),
    option_count: 1,
    flags: 0,
    api: &API as *const PolicyApi as *const c_void,
    extension: None,
}];

static LIBRARY: Library = Library {
    magic: smg::PLUGIN_MAGIC,
    abi_major: smg::ABI_MAJOR,
    abi_minor: smg::ABI_MINOR,
    struct_size: size_of::<Library>() as u32,
    plugin_count: 1,
    build: View::of("Rust"),
    plugins: PLUGINS.as_ptr(),
    plugin_stride: size_of::<Plugin>() as u64,
};

#[no_mangle]
pub extern "C" fn smg_plugin_entry() -> *const Library {
    &LIBRARY
}
